// Which rank's own gradient was not finite, once the sum over ranks is not. The sum
// lies where the own gradient was, and to look at every gradient before it is exchanged
// would cost each step a pass over memory. So the ranks compute the step once more,
// without exchange: parameters and samples are still the same, hence so is the
// gradient.
#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "trainer.h"

namespace stepslack::train {

// The first parameter, in layout order, whose gradient on this rank is not finite; "":
// there is none, or it can not be computed again.
std::string Trainer::OwnNotFiniteParameter() {
  network_.ClearGradients();
  reducer_.Begin(cursor_.steps + 1);
  const std::string spoilt = reducer_.NotFiniteParameter();
  for (size_t part = 0; part < loaded_->batch.parts(); ++part) {
    const model::Batch samples = loaded_->batch.Part(part);
    if (samples.samples == 0 && plan_.norm != "sync_batch") continue;
    const double share = static_cast<double>(loaded_->global.indices.size());
    if (!network_.Forward(samples, 1.0 / share).has_value()) return "";
    reducer_.set_accumulating(true);  // nothing is launched
    if (!network_.Backward().has_value()) return "";
  }
  const std::span<float> gradients = network_.gradients();
  const bool faulty = plan_.fault == "nan_gradient" &&
                      plan_.fault_rank == communicator_.rank() &&
                      plan_.fault_step == cursor_.steps + 1;
  for (const model::ParameterInfo& info : network_.parameters()) {
    const auto own = gradients.subspan(static_cast<size_t>(info.offset),
                                       static_cast<size_t>(info.count));
    // The test fault spoils what is exchanged, not what is computed.
    if (faulty && info.name == spoilt) {
      own[0] = std::numeric_limits<float>::quiet_NaN();
    }
    const bool finite = std::all_of(own.begin(), own.end(),
                                    [](float value) { return std::isfinite(value); });
    if (!finite) return info.name;
  }
  return "";
}

base::Error Trainer::NotFiniteGradient() {
  std::string parameter = reducer_.NotFiniteParameter();
  std::string where = "sum over all ranks";
  const std::string own = OwnNotFiniteParameter();
  std::vector<std::string> all(static_cast<size_t>(communicator_.world_size()));
  all[static_cast<size_t>(communicator_.rank())] = own;
  if (plan_.synchronise && all.size() > 1) {
    if (auto gathered = communicator_.AllGather(own); gathered.has_value()) {
      all = std::move(*gathered);
    }
  }
  const auto first = std::find_if(
      all.begin(), all.end(), [](const std::string& text) { return !text.empty(); });
  std::string help = "lower learning_rate or set clip_norm";
  if (first != all.end()) {
    where = "rank " + std::to_string(first - all.begin());
    parameter = *first;
    const auto count = std::count_if(
        all.begin(), all.end(), [](const std::string& text) { return !text.empty(); });
    if (count > 1) where += " and " + std::to_string(count - 1) + " more";
  } else {
    help +=
        "; no rank's own gradient shows it when the step is computed again, so the sum "
        "overflowed, or suspect memory or the network";
  }
  return {"TRAIN-0021", base::ExitCode::kFinding,
          "the gradient of " + parameter + " is not finite any more",
          where + ", step " + std::to_string(cursor_.steps + 1), help};
}

}  // namespace stepslack::train

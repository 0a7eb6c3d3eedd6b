#include "sample_source.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "graph_set.h"
#include "map_set.h"
#include "table_set.h"

namespace stepslack::train {
namespace {

using base::ExitCode;

template <typename Set>
base::Result<std::unique_ptr<SampleSource>> Open(const record::TrainPlan& plan) {
  SS_TRY(Set set, Set::Load(plan));
  return std::make_unique<Set>(std::move(set));
}

}  // namespace

base::Result<std::unique_ptr<SampleSource>> OpenSampleSource(
    const record::TrainPlan& plan) {
  if (plan.model == "mlp") return Open<TableSet>(plan);
  if (plan.model == "gnn") return Open<GraphSet>(plan);
  return Open<MapSet>(plan);
}

base::Status CheckRoles(const record::TrainPlan& plan, int64_t count) {
  constexpr std::string_view kValidation = "validation";
  constexpr std::string_view kTest = "test";
  std::vector<std::string_view> role(static_cast<size_t>(count));
  const auto claim = [&](const std::vector<int64_t>& list,
                         std::string_view name) -> base::Status {
    for (int64_t index : list) {
      const bool inside = index >= 0 && index < count;
      std::string_view taken;
      if (inside) taken = role[static_cast<size_t>(index)];
      // Validation samples may be predicted too: their residuals calibrate intervals.
      const bool predicted_too = taken == kValidation && name == kTest;
      if (inside && (taken.empty() || predicted_too)) {
        role[static_cast<size_t>(index)] = name;
        continue;
      }
      std::string what = std::string(name) + " index " + std::to_string(index);
      what += inside ? " is already a " + std::string(taken) + " index"
                     : " is outside 0 to " + std::to_string(count - 1);
      return base::Fail("TRAIN-0004", ExitCode::kInput, std::move(what),
                        plan.inputs_path,
                        "every sample has one role; only validation ones may be "
                        "predicted as well");
    }
    return {};
  };
  SS_RETURN_IF_ERROR(claim(plan.train_indices, "train"));
  SS_RETURN_IF_ERROR(claim(plan.validation_indices, kValidation));
  return claim(plan.test_indices, kTest);
}

base::Status CheckFinite(std::span<const float> values, const std::string& where) {
  const bool finite = std::all_of(values.begin(), values.end(),
                                  [](float value) { return std::isfinite(value); });
  if (finite) return {};
  return base::Fail("TRAIN-0005", ExitCode::kInput,
                    "a value is not finite (NaN or infinite)", where,
                    "correct or leave out this sample");
}

std::vector<int64_t> SortedTrainIndices(const record::TrainPlan& plan) {
  std::vector<int64_t> sorted = plan.train_indices;
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

std::string ShapeText(const std::vector<int64_t>& shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  }
  return text + "]";
}

}  // namespace stepslack::train

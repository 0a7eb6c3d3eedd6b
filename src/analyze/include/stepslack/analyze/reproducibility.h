// Did two runs of one plan do the same, bit for bit, and if not, where did they part?
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stepslack/base/json.h"
#include "stepslack/record/run_record.h"

namespace stepslack::analyze {

enum class ReproducibilityVerdict {
  kBitEqual,  // parameters, losses and sample order equal; predictions as far as made
  kDataOrderDiffers,  // the runs saw other samples
  kDiverged,          // same samples, other numbers
  kNotComparable      // a digest or the step records are missing, or a run failed
};
std::string_view ToString(ReproducibilityVerdict verdict);

// Absent: at least one side does not have it.
struct Reproducibility {
  ReproducibilityVerdict verdict = ReproducibilityVerdict::kNotComparable;
  std::optional<bool> parameters_equal;
  std::optional<bool> predictions_equal;
  std::optional<bool> sample_order_equal;
  std::optional<bool> losses_equal;
  int64_t steps_compared = 0;
  int64_t steps_only_in_one = 0;
  std::optional<int64_t> first_loss_step;    // first step with another loss (any bit)
  std::optional<int64_t> first_sample_step;  // first step with other samples
  int first_sample_rank = -1;
  double max_relative_loss_difference = 0;       // over compared steps
  std::vector<std::string> runtime_differences;  // "threads: 1 and 2"
  std::string reason;
};

Reproducibility CompareRuns(const record::RunRecord& a, const record::RunRecord& b);

base::Json ToJson(const Reproducibility& report);  // "stepslack.reproducibility/1"

}  // namespace stepslack::analyze

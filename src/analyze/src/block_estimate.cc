#include "block_estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "stepslack/stats/intervals.h"

namespace stepslack::analyze {

EstimateBasis ChooseBasis(size_t runs, int64_t blocks, double confidence) {
  return {.over_runs = runs >= 3,
          .blocks = std::max<int64_t>(blocks, 1),
          .confidence = confidence};
}

base::Estimate EstimateOverBlocks(
    std::span<const size_t> steps_of_run, const EstimateBasis& basis,
    std::string_view unit,
    const std::function<std::optional<double>(size_t, size_t, size_t)>& value) {
  std::vector<double> values;
  size_t longest_block = 0;
  for (size_t run = 0; run < steps_of_run.size(); ++run) {
    const size_t steps = steps_of_run[run];
    const size_t blocks = basis.over_runs
                              ? std::min<size_t>(steps, 1)
                              : std::min(steps, static_cast<size_t>(basis.blocks));
    for (size_t b = 0; b < blocks; ++b) {
      const size_t begin = b * steps / blocks;
      const size_t end = (b + 1) * steps / blocks;
      longest_block = std::max(longest_block, end - begin);
      if (const auto one = value(run, begin, end)) values.push_back(*one);
    }
  }
  if (values.empty()) return Unknown(unit, "no step to estimate it from");
  base::Estimate estimate = stats::MeanInterval(
      values, unit, basis.over_runs ? "runs" : "step blocks", basis.confidence);
  estimate.method +=
      basis.over_runs
          ? std::string(", one value a run")
          : fmt::format(", blocks of up to {} consecutive steps", longest_block);
  return estimate;
}

base::Estimate RatioOverBlocks(std::span<const std::vector<RatioTerm>> runs,
                               const EstimateBasis& basis, std::string_view unit) {
  std::vector<size_t> steps;
  for (const auto& terms : runs) steps.push_back(terms.size());
  return EstimateOverBlocks(
      steps, basis, unit,
      [&runs](size_t run, size_t begin, size_t end) -> std::optional<double> {
        RatioTerm sum;
        for (size_t i = begin; i < end; ++i) {
          sum.numerator += runs[run][i].numerator;
          sum.denominator += runs[run][i].denominator;
        }
        if (sum.denominator <= 0) return std::nullopt;
        return sum.numerator / sum.denominator;
      });
}

base::Estimate ShareOverBlocks(std::span<const std::vector<RatioTerm>> runs,
                               const EstimateBasis& basis) {
  base::Estimate estimate = RatioOverBlocks(runs, basis, "1");
  if (!estimate.low || !estimate.high) return estimate;
  if (*estimate.low < 0 || *estimate.high > 1) estimate.method += ", cut to [0, 1]";
  estimate.low = std::clamp(*estimate.low, 0.0, 1.0);
  estimate.high = std::clamp(*estimate.high, 0.0, 1.0);
  return estimate;
}

base::Estimate Unknown(std::string_view unit, std::string why) {
  base::Estimate estimate;
  estimate.unit = std::string(unit);
  estimate.method = std::move(why);
  return estimate;
}

}  // namespace stepslack::analyze

// Estimates over repeated runs or, when those are too few, over blocks of consecutive
// steps: single steps follow each other too closely to count as independent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stepslack/base/estimate.h"

namespace stepslack::analyze {

struct RatioTerm {
  double numerator = 0;
  double denominator = 0;
};

struct EstimateBasis {
  bool over_runs = false;  // else blocks within each run
  int64_t blocks = 10;     // per run
  double confidence = 0.95;
};

// From three runs on the runs are the sample.
EstimateBasis ChooseBasis(size_t runs, int64_t blocks, double confidence);

// Mean, with t interval, of value(run, begin, end) over the runs or over the blocks
// [begin, end) of each run; ranges without a value are left out.
base::Estimate EstimateOverBlocks(
    std::span<const size_t> steps_of_run, const EstimateBasis& basis,
    std::string_view unit,
    const std::function<std::optional<double>(size_t, size_t, size_t)>& value);

// The value is sum(numerator) / sum(denominator) of a range; terms are one per step.
base::Estimate RatioOverBlocks(std::span<const std::vector<RatioTerm>> runs,
                               const EstimateBasis& basis, std::string_view unit);

// The same for a share: the interval is cut to [0, 1].
base::Estimate ShareOverBlocks(std::span<const std::vector<RatioTerm>> runs,
                               const EstimateBasis& basis);

// An estimate that could not be made, and why.
base::Estimate Unknown(std::string_view unit, std::string why);

}  // namespace stepslack::analyze

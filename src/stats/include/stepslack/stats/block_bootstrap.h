// Interval of the mean of a series whose neighbours resemble each other, such as step
// times: whole blocks of neighbouring steps are drawn again.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "stepslack/base/estimate.h"

namespace stepslack::stats {

struct BlockBootstrapOptions {
  int64_t block = 0;         // values a block; 0: chosen by AutomaticBlock
  int64_t resamples = 2000;  // 100 to 1,000,000; n * resamples at most 2e9
  uint64_t seed = 1;
  double confidence = 0.95;
};

// Autocorrelation at `lag`, divisor n; NaN for a constant or too short series.
double Autocorrelation(std::span<const double> values, int64_t lag);

// Steps a value counts for: n / (1 + 2 sum of autocorrelations), the sum cut at the
// first pair of lags whose sum is not positive (Geyer 1992, initial positive sequence)
// or at lag 1000; in [1, n].
double EffectiveSampleSize(std::span<const double> values);

// Block length for the circular bootstrap of a mean (Politis and White 2004 with the
// correction of Patton, Politis and White 2009), at least 1 and at most min(3 sqrt(n),
// n / 4) rounded up. 1 for a series without structure.
int64_t AutomaticBlock(std::span<const double> values);

// Circular block bootstrap (Politis and Romano 1992): blocks may wrap around the end,
// so that every value is drawn equally often. Percentile interval of the mean; n counts
// values, `method` names the block length and the effective sample size. No interval
// below eight values or fewer than four blocks' worth of values.
base::Estimate BlockBootstrapMean(std::span<const double> values, std::string_view unit,
                                  std::string_view n_of,
                                  const BlockBootstrapOptions& options = {});

}  // namespace stepslack::stats

// How many more runs would settle a question. No value when none can be named: an
// effect or deviation that is not positive, a level outside (0, 1), or more than a
// billion runs.
#pragma once

#include <cstdint>
#include <optional>

namespace stepslack::stats {

struct PowerOptions {
  double power = 0.8;
  double alpha = 0.05;  // two-sided
};

// Runs per side for Student's two-sample t test to see a true difference `effect`
// between groups of deviation `deviation`. Exact through the noncentral t (Cohen 1988,
// ch. 2).
std::optional<int64_t> RunsPerSide(double effect, double deviation,
                                   const PowerOptions& options = {});
// Pairs for the paired t test; `deviation` is that of the differences.
std::optional<int64_t> PairsNeeded(double effect, double deviation,
                                   const PowerOptions& options = {});
// Power of the two tests above at n runs per side (pairs), n >= 2.
std::optional<double> PowerOfRuns(int64_t n_per_side, double effect, double deviation,
                                  double alpha = 0.05);
std::optional<double> PowerOfPairs(int64_t pairs, double effect, double deviation,
                                   double alpha = 0.05);

// Further runs until a t interval on n runs has `shrink` (in (0, 1)) times its half
// width, at an unchanged deviation: t(N-1) / sqrt(N) <= shrink * t(n-1) / sqrt(n).
std::optional<int64_t> MoreRunsToShrink(int64_t n, double shrink,
                                        double confidence = 0.95);

}  // namespace stepslack::stats

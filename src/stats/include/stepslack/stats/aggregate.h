// Scores of many runs over several tasks as one number: the interquartile mean and the
// probability of improvement, with stratified bootstrap intervals (Agarwal et al. 2021,
// "Deep RL at the edge of the statistical precipice"; their package rliable).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "stepslack/base/estimate.h"

namespace stepslack::stats {

// Mean without floor(share n) values at either end (scipy.stats.trim_mean); NaN when
// empty, share is not in [0, 0.5), or a value is not finite.
double TrimmedMean(std::span<const double> values, double share);
// TrimmedMean at 0.25.
double InterquartileMean(std::span<const double> values);

// One stratum: the runs of one task. Runs are drawn again within their own stratum.
using Strata = std::vector<std::vector<double>>;
using StrataStatistic = std::function<double(const Strata&)>;

struct StratifiedOptions {
  int64_t resamples = 2000;  // 100 to 1,000,000
  uint64_t seed = 1;
  double confidence = 0.95;
};

// Percentile interval (type-7 quantiles) of `statistic` over resamples with every
// stratum drawn with replacement at its own size. Percentile as in rliable; it covers
// less than promised below about ten runs a stratum. No value for an empty stratum, no
// stratum, or a value that is not finite; resamples whose statistic is not finite are
// left out, and `method` counts them.
base::Estimate StratifiedBootstrap(const Strata& strata,
                                   const StrataStatistic& statistic,
                                   std::string_view unit, std::string_view n_of,
                                   const StratifiedOptions& options = {});

// InterquartileMean of all runs of all tasks together; n counts runs.
base::Estimate InterquartileMeanEstimate(const Strata& tasks, std::string_view unit,
                                         const StratifiedOptions& options = {});

// Mean over tasks of P(y > x) + P(y = x) / 2 for runs x, y of the same task. The two
// must have the same number of tasks. 0.5 is no difference. n counts runs of both.
base::Estimate ProbabilityOfImprovement(const Strata& x, const Strata& y,
                                        const StratifiedOptions& options = {});

}  // namespace stepslack::stats

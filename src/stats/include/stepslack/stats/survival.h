// Time to a target when some runs stop before they reach it: such a run is censored,
// not dropped and not counted at its last time. Source: Kaplan and Meier 1958; Klein
// and Moeschberger 2003, chapter 4. Conventions as in R's package survival.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "stepslack/base/estimate.h"
#include "stepslack/stats/exact_tests.h"

namespace stepslack::stats {

struct Duration {
  double time = 0;
  bool reached = false;  // false: still on its way when observation ended
};

struct SurvivalStep {
  double time = 0;
  int64_t at_risk = 0;
  int64_t events = 0;
  double survival = 1;        // share still on its way after `time`
  double standard_error = 0;  // Greenwood
  double low = 1;             // log interval (R's conf.type = "log"), cut at 1
  double high = 1;
};

struct SurvivalCurve {
  std::vector<SurvivalStep> steps;  // one per distinct event time, in time order
  int64_t n = 0;
  int64_t events = 0;
  double last_time = 0;  // largest time seen, censored ones included
};

// Times must be finite and not negative; others are left out of n. Censored times at an
// event time count as at risk there.
SurvivalCurve KaplanMeier(std::span<const Duration> durations,
                          double confidence = 0.95);

// Smallest time with survival <= 1/2 (midpoint of the step when it is exactly 1/2),
// with the Brookmeyer-Crowley interval on the log scale. Absent when fewer than half
// arrived; an upper bound that was not reached is absent and `method` says so.
base::Estimate MedianTime(std::span<const Duration> durations, std::string_view unit,
                          std::string_view n_of, double confidence = 0.95);

// Mean of min(time, horizon): the area under the curve up to `horizon`. Without
// censoring before the horizon a t interval, else a t interval on the Greenwood-type
// error (Klein and Moeschberger, 4.5.2). Absent when the curve is not known up to the
// horizon.
base::Estimate RestrictedMeanTime(std::span<const Duration> durations, double horizon,
                                  std::string_view unit, std::string_view n_of,
                                  double confidence = 0.95);

// Log-rank test of two groups; `statistic` is chi-squared with one degree of freedom.
TestResult LogRankTest(std::span<const Duration> a, std::span<const Duration> b);

}  // namespace stepslack::stats

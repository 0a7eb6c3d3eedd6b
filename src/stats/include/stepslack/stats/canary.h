// Judging a canary against its baseline, metric by metric, then as one score. The rule
// is that of Kayenta's NetflixACAJudge, so that its users can compare; where it fails
// open we do not follow (see below), and a second test looks where it is blind.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stepslack/base/estimate.h"

namespace stepslack::stats {

enum class CanaryClass { kPass, kHigh, kLow, kNodata, kError };
std::string_view ToString(CanaryClass canary_class);  // "Pass", "Nodata"

struct CanaryOptions {
  double confidence = 0.98;
  double tolerance = 0.25;        // the interval must clear this share of |estimate|
  double allowed_increase = 1.0;  // High needs mean ratio >= this
  double allowed_decrease = 1.0;  // Low needs mean ratio <= this
  int64_t resamples = 10'000;     // of the tail test, when not enumerated
  uint64_t seed = 1;
};

struct CanaryJudgement {
  CanaryClass canary_class = CanaryClass::kNodata;
  base::Estimate shift;              // canary - baseline, Hodges-Lehmann
  std::optional<double> mean_ratio;  // absent when the baseline's mean is 0
  // Anderson-Darling permutation p: the rule above passes a canary of which seven
  // values in ten are 100 times too large, this one does not. The class ignores it.
  std::optional<double> tail_p;
  std::string method;
};

// High when the interval's lower end exceeds tolerance |estimate| and the mean ratio is
// at least allowed_increase; Low the other way round; else Pass. Nodata: a side is
// empty. Error: a value is not finite, or no interval could be made of the values.
// Equal samples are Pass.
CanaryJudgement JudgeCanary(std::span<const double> canary,
                            std::span<const double> baseline,
                            const CanaryOptions& options = {});

struct CanaryGroup {
  std::vector<CanaryClass> metrics;
  double weight = 0;  // not negative
  bool critical = false;
};

struct CanaryScore {
  std::map<std::string, double, std::less<>> groups;  // 0 to 100
  double summary = 0;                                 // 0 to 100, two decimals
  std::string reason;  // why the summary is 0 in spite of the groups; may be empty
};

// Group: 100 pass / (pass + high + low + error); only Nodata: 100. Summary: weighted
// mean of the groups, rounded to two decimals; 0 when a critical group has a metric
// other than Pass, when at least half of all metrics have no data, when there is no
// metric, or all weights are 0. Kayenta leaves errors out of every count, so that a
// metric that can not be judged raises the score; here it counts against it.
CanaryScore ScoreCanary(const std::map<std::string, CanaryGroup, std::less<>>& groups);

}  // namespace stepslack::stats

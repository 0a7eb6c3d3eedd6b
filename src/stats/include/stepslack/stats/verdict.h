// What two sets of runs say about a change, in four words, and how many more runs would
// say it when they do not.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "stepslack/base/estimate.h"

namespace stepslack::stats {

enum class ChangeVerdict { kRegressed, kImproved, kNoChange, kInconclusive };
std::string_view ToString(ChangeVerdict verdict);  // "no change"

struct ChangeRule {
  // Smallest relative change that matters, not negative; 0.02: ratios within [1 / 1.02,
  // 1.02] are the same. With 0 nothing can be shown to be "no change".
  double margin = 0.02;
  base::Direction better = base::Direction::kAtMost;  // kAtMost: lower is better
  double confidence = 0.95;
  double power = 0.8;  // for the number of further runs
};

struct ChangeDecision {
  ChangeVerdict verdict = ChangeVerdict::kInconclusive;
  base::Estimate ratio;  // after / before
  // Further runs a side (pairs) that give `power` to see a change of the margin, or of
  // the observed size when there is no margin; only when inconclusive and known.
  std::optional<int64_t> more_runs;
  std::string reason;  // one sentence with numbers
};

// no change: the whole interval lies within the margin (equivalence); improved or
// regressed: it lies on one side of 1 and not within the margin; else inconclusive. A
// ratio without interval is inconclusive.
ChangeVerdict JudgeRatio(const base::Estimate& ratio, const ChangeRule& rule);

// Independent runs: Welch's t interval on logarithms of the ratio of geometric means.
// Values must be positive (times, throughputs); else there is no ratio and the decision
// is inconclusive with the reason.
ChangeDecision CompareRuns(std::span<const double> before,
                           std::span<const double> after, const ChangeRule& rule = {});
// Pairs before[i], after[i] under the same seed: t interval on log after - log before.
ChangeDecision ComparePairedRuns(std::span<const double> before,
                                 std::span<const double> after,
                                 const ChangeRule& rule = {});

}  // namespace stepslack::stats

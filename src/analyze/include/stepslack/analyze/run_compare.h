// A/B of two sets of runs, A (before) and B (after), by the minutes to the target of
// those that reached it. The tests are those of module stats; formulas and the rule of
// the verdict: docs/metrics_runs.md.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "stepslack/analyze/effects.h"
#include "stepslack/analyze/run_sets.h"
#include "stepslack/base/estimate.h"
#include "stepslack/base/json.h"
#include "stepslack/base/result.h"
#include "stepslack/stats/exact_tests.h"

namespace stepslack::analyze {

struct RunCompareOptions {
  double margin = 0.02;  // smallest change of the ratio that matters; 0 to 10
  double confidence = 0.95;
  double power = 0.8;
  int64_t max_arrangements = 300'000;  // of the exact permutation test
};

struct RunCompareSide {
  std::string name;
  int64_t runs = 0;
  int64_t reached = 0;
  std::optional<double> mean_min;
  std::optional<double> median_min;
};

struct RunComparison {
  RunCompareSide a;
  RunCompareSide b;
  double margin = 0;
  base::Estimate ratio;  // geometric mean B / A, Welch's t interval on logs
  stats::MannWhitneyResult mann_whitney;  // of A against B: u counts A slower
  // Exact without ties; with ties the tie-corrected normal one, as the usual packages
  // have it (mann_whitney.p_exact is conditional on the ties).
  std::optional<double> mann_whitney_p;
  stats::WelchResult welch;  // mean(A) - mean(B), minutes
  // Absent, and `no_permutation` says so, above max_arrangements.
  std::optional<double> permutation_p;
  std::string no_permutation;
  base::Estimate hodges_lehmann;       // shift B - A, minutes
  std::optional<double> cliffs_delta;  // P(B > A) - P(B < A): + means B is slower
  std::optional<double> log_rank_p;    // with the runs that did not reach the target

  // Lower is better. improved, regressed: the interval of the ratio lies on one side of
  // 1; no change: it lies within [1 / (1 + margin), 1 + margin]; else inconclusive.
  // Runs that did not converge can only weaken this.
  EffectVerdict verdict = EffectVerdict::kInconclusive;
  std::string reason;  // the verdict in words
  // Runs in all, per side, to see a change of the margin (without one, or when there
  // are that many already: of the size observed) with the power asked for at 5 %.
  std::optional<int64_t> runs_needed;
  std::optional<int64_t> more_runs;  // per side, above what the smaller side has
};

// Errors: ANL-0182 (a side has no run), ANL-0183 (margin, confidence or power out of
// range). A side where no run reached the target has no tests but the log-rank test.
base::Result<RunComparison> CompareRuns(std::span<const RunOutcome> a,
                                        std::span<const RunOutcome> b,
                                        const RunCompareOptions& options = {});

// The same for two sets of a report, by index.
base::Result<RunComparison> CompareSets(const RunSetReport& report, size_t a, size_t b,
                                        const RunCompareOptions& options = {});

// tests{ratio{value, low, high, ...}, mann_whitney_p, welch_p, permutation_p,
// hodges_lehmann, hodges_lehmann_interval, ...}, verdict, reason, more_runs, a, b.
base::Json ToJson(const RunComparison& comparison);
// Both together: runs, sets, tests, verdict.
base::Json ToJson(const RunSetReport& report, const RunComparison& comparison);

}  // namespace stepslack::analyze

#include "stepslack/analyze/run_compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "block_estimate.h"
#include "stepslack/stats/intervals.h"
#include "stepslack/stats/power.h"
#include "stepslack/stats/survival.h"

namespace stepslack::analyze {
namespace {

using base::Json;

constexpr double kAlpha = 0.05;
constexpr double kLargestMargin = 10;

std::vector<double> ReachedMinutes(std::span<const RunOutcome> runs) {
  std::vector<double> minutes;
  for (const RunOutcome& run : runs) {
    if (run.reached()) minutes.push_back(*run.ttt_min);
  }
  std::sort(minutes.begin(), minutes.end());
  return minutes;
}

RunCompareSide Side(std::span<const RunOutcome> runs,
                    const std::vector<double>& minutes) {
  RunCompareSide side;
  side.runs = static_cast<int64_t>(runs.size());
  side.reached = static_cast<int64_t>(minutes.size());
  if (minutes.empty()) return side;
  side.mean_min = std::accumulate(minutes.begin(), minutes.end(), 0.0) /
                  static_cast<double>(minutes.size());
  const size_t half = minutes.size() / 2;
  side.median_min =
      minutes.size() % 2 == 1 ? minutes[half] : (minutes[half - 1] + minutes[half]) / 2;
  return side;
}

// C(n, k), or limit + 1 when that is less.
int64_t ChooseUpTo(int64_t n, int64_t k, int64_t limit) {
  double count = 1;
  k = std::min(k, n - k);
  for (int64_t i = 1; i <= k; ++i) {
    count = std::round(count * static_cast<double>(n - k + i) / static_cast<double>(i));
    if (count > static_cast<double>(limit)) return limit + 1;
  }
  return static_cast<int64_t>(count);
}

void SetPermutation(const std::vector<double>& a, const std::vector<double>& b,
                    const RunCompareOptions& options, RunComparison& comparison) {
  const auto n = static_cast<int64_t>(a.size() + b.size());
  const auto k = static_cast<int64_t>(a.size());
  if (ChooseUpTo(n, k, options.max_arrangements) > options.max_arrangements) {
    comparison.no_permutation = fmt::format("C({}, {}) is more than {} arrangements", n,
                                            k, options.max_arrangements);
    return;
  }
  stats::PermutationOptions permutation;
  permutation.max_enumerated = options.max_arrangements;
  const stats::TestResult test = stats::PermutationTest(a, b, permutation);
  comparison.permutation_p = test.p;
  if (!test.p) comparison.no_permutation = test.method;
}

void SetTests(const std::vector<double>& a, const std::vector<double>& b,
              const RunCompareOptions& options, RunComparison& comparison) {
  comparison.ratio = stats::LogRatioInterval(b, a, "runs", options.confidence);
  comparison.mann_whitney = stats::MannWhitney(a, b);
  const stats::MannWhitneyResult& rank = comparison.mann_whitney;
  comparison.mann_whitney_p =
      rank.p_exact && !rank.ties ? rank.p_exact : rank.p_asymptotic;
  comparison.welch = stats::WelchTest(a, b, "min", "runs", options.confidence);
  comparison.hodges_lehmann =
      stats::HodgesLehmannShift(b, a, "min", "runs", options.confidence);
  if (comparison.mann_whitney.superiority) {
    comparison.cliffs_delta = 1 - 2 * *comparison.mann_whitney.superiority;
  }
  SetPermutation(a, b, options, comparison);
}

void SetLogRank(std::span<const RunOutcome> a, std::span<const RunOutcome> b,
                RunComparison& comparison) {
  comparison.log_rank_p = stats::LogRankTest(Durations(a, Censoring::kAtStop),
                                             Durations(b, Censoring::kAtStop))
                              .p;
}

EffectVerdict FromInterval(const base::Estimate& ratio, double margin) {
  if (!ratio.low || !ratio.high) return EffectVerdict::kInconclusive;
  if (*ratio.low >= 1 / (1 + margin) && *ratio.high <= 1 + margin && margin > 0) {
    return EffectVerdict::kNoChange;
  }
  if (*ratio.low > 1) return EffectVerdict::kRegressed;
  if (*ratio.high < 1) return EffectVerdict::kImproved;
  return EffectVerdict::kInconclusive;
}

double FailedShare(const RunCompareSide& side) {
  return static_cast<double>(side.runs - side.reached) / static_cast<double>(side.runs);
}

// Pooled deviation of the logarithms; no value below three runs together.
std::optional<double> LogDeviation(const std::vector<double>& a,
                                   const std::vector<double>& b) {
  double squares = 0;
  for (const std::vector<double>* side : {&a, &b}) {
    double mean = 0;
    for (const double m : *side) {
      if (!(m > 0)) return std::nullopt;
      mean += std::log(m) / static_cast<double>(side->size());
    }
    for (const double m : *side) squares += std::pow(std::log(m) - mean, 2);
  }
  if (a.size() + b.size() < 3) return std::nullopt;
  return std::sqrt(squares / static_cast<double>(a.size() + b.size() - 2));
}

void SetRunsNeeded(const std::vector<double>& a, const std::vector<double>& b,
                   const RunCompareOptions& options, RunComparison& comparison) {
  const std::optional<double> deviation = LogDeviation(a, b);
  if (!deviation) return;
  stats::PowerOptions power;
  power.power = options.power;
  power.alpha = kAlpha;
  const auto have = static_cast<int64_t>(std::min(a.size(), b.size()));
  if (options.margin > 0) {
    comparison.runs_needed =
        stats::RunsPerSide(std::log1p(options.margin), *deviation, power);
  }
  const bool enough = comparison.runs_needed && *comparison.runs_needed <= have;
  if ((enough || options.margin == 0) && comparison.ratio.value) {
    const double observed = std::fabs(std::log(*comparison.ratio.value));
    comparison.runs_needed = stats::RunsPerSide(observed, *deviation, power);
  }
  if (comparison.runs_needed) {
    comparison.more_runs = std::max<int64_t>(*comparison.runs_needed - have, 0);
  }
}

std::string Numbers(const RunComparison& comparison) {
  const base::Estimate& ratio = comparison.ratio;
  if (!ratio.value) return "";
  if (!ratio.low || !ratio.high) return fmt::format("B / A {:.4f}", *ratio.value);
  return fmt::format("B / A {:.4f} [{:.4f}, {:.4f}]", *ratio.value, *ratio.low,
                     *ratio.high);
}

std::string MoreRuns(const RunComparison& comparison, double power) {
  if (!comparison.more_runs) return "how many more runs would settle it is not known";
  return fmt::format("{} more runs a side give {:g} % power", *comparison.more_runs,
                     100 * power);
}

// Neither side can be compared by time alone when one of them never arrives.
void JudgeArrivals(RunComparison& comparison) {
  const bool known = comparison.log_rank_p && *comparison.log_rank_p < kAlpha;
  const std::string counts = fmt::format(
      "{} of {} runs of A and {} of {} of B reached the target", comparison.a.reached,
      comparison.a.runs, comparison.b.reached, comparison.b.runs);
  const double a = FailedShare(comparison.a);
  const double b = FailedShare(comparison.b);
  if (known && b > a) comparison.verdict = EffectVerdict::kRegressed;
  if (known && b < a) comparison.verdict = EffectVerdict::kImproved;
  comparison.reason =
      comparison.log_rank_p
          ? fmt::format("{} (log-rank p {:.2g})", counts, *comparison.log_rank_p)
          : counts;
}

// A gain in time is none as long as more runs fail, and the other way round.
std::string Objection(const RunComparison& comparison) {
  const double a = FailedShare(comparison.a);
  const double b = FailedShare(comparison.b);
  const EffectVerdict verdict = comparison.verdict;
  if (a == b || verdict == EffectVerdict::kInconclusive) return "";
  if (b > a && verdict == EffectVerdict::kRegressed) return "";
  if (b < a && verdict == EffectVerdict::kImproved) return "";
  return fmt::format(
      "by time alone {}, but {} of {} runs of A and {} of {} of B did "
      "not reach the target",
      ToString(verdict), comparison.a.runs - comparison.a.reached, comparison.a.runs,
      comparison.b.runs - comparison.b.reached, comparison.b.runs);
}

void Judge(const RunCompareOptions& options, RunComparison& comparison) {
  comparison.verdict = FromInterval(comparison.ratio, options.margin);
  if (const std::string objection = Objection(comparison); !objection.empty()) {
    comparison.verdict = EffectVerdict::kInconclusive;
    comparison.reason = fmt::format("inconclusive: {}", objection);
    return;
  }
  const std::string numbers = Numbers(comparison);
  switch (comparison.verdict) {
    case EffectVerdict::kNoChange:
      comparison.reason =
          fmt::format("no change within {:g} %: {}", 100 * options.margin, numbers);
      break;
    case EffectVerdict::kInconclusive:
      comparison.reason = fmt::format("inconclusive: {}; {}", numbers,
                                      MoreRuns(comparison, options.power));
      break;
    default:
      comparison.reason = fmt::format("{}: {}", ToString(comparison.verdict), numbers);
  }
}

Json SideJson(const RunCompareSide& side) {
  Json json;
  json.Set("name", side.name);
  json.Set("runs", side.runs);
  json.Set("reached", side.reached);
  json.Set("mean_min", side.mean_min ? Json(*side.mean_min) : Json());
  json.Set("median_min", side.median_min ? Json(*side.median_min) : Json());
  return json;
}

template <typename T>
Json OrNull(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json TestsJson(const RunComparison& comparison) {
  const stats::MannWhitneyResult& rank = comparison.mann_whitney;
  Json tests;
  tests.Set("ratio", base::ToJson(comparison.ratio));
  tests.Set("mann_whitney_u", OrNull(rank.u));
  tests.Set("mann_whitney_p", OrNull(comparison.mann_whitney_p));
  tests.Set("mann_whitney_p_exact", OrNull(rank.p_exact));
  tests.Set("mann_whitney_ties", rank.ties);
  tests.Set("welch_t", OrNull(comparison.welch.t));
  tests.Set("welch_p", OrNull(comparison.welch.p));
  tests.Set("permutation_p", OrNull(comparison.permutation_p));
  if (!comparison.permutation_p) {
    tests.Set("permutation_reason", comparison.no_permutation);
  }
  tests.Set("hodges_lehmann", OrNull(comparison.hodges_lehmann.value));
  tests.Set("hodges_lehmann_interval", base::ToJson(comparison.hodges_lehmann));
  tests.Set("cliffs_delta", OrNull(comparison.cliffs_delta));
  tests.Set("log_rank_p", OrNull(comparison.log_rank_p));
  return tests;
}

void SetComparison(const RunComparison& comparison, Json& json) {
  json.Set("a", SideJson(comparison.a));
  json.Set("b", SideJson(comparison.b));
  json.Set("margin", comparison.margin);
  json.Set("tests", TestsJson(comparison));
  json.Set("verdict", ToString(comparison.verdict));
  json.Set("reason", comparison.reason);
  json.Set("runs_needed", OrNull(comparison.runs_needed));
  json.Set("more_runs", OrNull(comparison.more_runs));
}

std::vector<RunOutcome> RunsOf(const RunSetReport& report, size_t set) {
  std::vector<RunOutcome> runs;
  if (set >= report.sets.size()) return runs;
  for (const size_t i : report.sets[set].members) runs.push_back(report.runs[i]);
  return runs;
}

}  // namespace

base::Result<RunComparison> CompareRuns(std::span<const RunOutcome> a,
                                        std::span<const RunOutcome> b,
                                        const RunCompareOptions& options) {
  if (a.empty() || b.empty()) {
    return base::Fail("ANL-0182", base::ExitCode::kInput,
                      fmt::format("side {} has no runs", a.empty() ? "A" : "B"), "",
                      "name two sets of runs to compare");
  }
  const auto is_share = [](double value) { return value > 0 && value < 1; };
  if (!(options.margin >= 0 && options.margin <= kLargestMargin) ||
      !is_share(options.confidence) || !is_share(options.power)) {
    return base::Fail("ANL-0183", base::ExitCode::kUsage,
                      "margin, confidence or power is out of range", "",
                      "give a margin of 0 to 10, and shares between 0 and 1");
  }
  const std::vector<double> minutes_a = ReachedMinutes(a);
  const std::vector<double> minutes_b = ReachedMinutes(b);
  RunComparison comparison;
  comparison.margin = options.margin;
  comparison.a = Side(a, minutes_a);
  comparison.b = Side(b, minutes_b);
  SetLogRank(a, b, comparison);
  if (minutes_a.empty() || minutes_b.empty()) {
    const std::string why = "no run of one side reached the target";
    comparison.ratio = Unknown("1", why);
    comparison.hodges_lehmann = Unknown("min", why);
    comparison.mann_whitney.method = why;
    comparison.no_permutation = why;
    JudgeArrivals(comparison);
    return comparison;
  }
  SetTests(minutes_a, minutes_b, options, comparison);
  SetRunsNeeded(minutes_a, minutes_b, options, comparison);
  Judge(options, comparison);
  return comparison;
}

base::Result<RunComparison> CompareSets(const RunSetReport& report, size_t a, size_t b,
                                        const RunCompareOptions& options) {
  SS_TRY(RunComparison comparison,
         CompareRuns(RunsOf(report, a), RunsOf(report, b), options));
  comparison.a.name = report.sets[a].name;
  comparison.b.name = report.sets[b].name;
  return comparison;
}

base::Json ToJson(const RunComparison& comparison) {
  Json json;
  json.Set("schema", "stepslack.run_comparison/1");
  SetComparison(comparison, json);
  return json;
}

base::Json ToJson(const RunSetReport& report, const RunComparison& comparison) {
  Json json = ToJson(report);
  SetComparison(comparison, json);
  return json;
}

}  // namespace stepslack::analyze

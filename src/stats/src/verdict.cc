#include "stepslack/stats/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "sample.h"
#include "stepslack/stats/intervals.h"
#include "stepslack/stats/power.h"

namespace stepslack::stats {
namespace {

// Change of the logarithm to plan for; 0 when there is none to name.
double EffectToSee(const base::Estimate& ratio, const ChangeRule& rule) {
  if (rule.margin > 0) return std::log1p(rule.margin);
  return std::fabs(std::log(ratio.value.value_or(1.0)));
}

std::string Percent(double ratio) {
  return fmt::format("{:+.2f} %", 100 * (ratio - 1));
}

std::string Reason(const ChangeDecision& decision, const ChangeRule& rule) {
  const base::Estimate& ratio = decision.ratio;
  if (!ratio.value.has_value() || !ratio.low.has_value() || !ratio.high.has_value()) {
    return ratio.method;
  }
  std::string text = fmt::format("change {} [{}, {}] against a margin of {:g} %",
                                 Percent(*ratio.value), Percent(*ratio.low),
                                 Percent(*ratio.high), 100 * rule.margin);
  if (decision.verdict == ChangeVerdict::kInconclusive) {
    text += decision.more_runs.has_value()
                ? fmt::format("; {} more runs a side give {:g} % power",
                              *decision.more_runs, 100 * rule.power)
                : "; the number of runs that would decide can not be named";
  }
  return text;
}

ChangeDecision Decide(base::Estimate ratio, std::optional<int64_t> needed, int64_t have,
                      const ChangeRule& rule) {
  ChangeDecision decision;
  decision.ratio = std::move(ratio);
  decision.verdict = JudgeRatio(decision.ratio, rule);
  if (decision.verdict == ChangeVerdict::kInconclusive && needed.has_value()) {
    // When the planned number is there and the luck was bad, one more is still needed.
    decision.more_runs = std::max<int64_t>(1, *needed - have);
  }
  decision.reason = Reason(decision, rule);
  return decision;
}

}  // namespace

std::string_view ToString(ChangeVerdict verdict) {
  switch (verdict) {
    case ChangeVerdict::kRegressed:
      return "regressed";
    case ChangeVerdict::kImproved:
      return "improved";
    case ChangeVerdict::kNoChange:
      return "no change";
    case ChangeVerdict::kInconclusive:
      return "inconclusive";
  }
  return "";
}

ChangeVerdict JudgeRatio(const base::Estimate& ratio, const ChangeRule& rule) {
  if (!ratio.low.has_value() || !ratio.high.has_value()) {
    return ChangeVerdict::kInconclusive;
  }
  const double upper = 1 + rule.margin;
  if (rule.margin > 0 && *ratio.low >= 1 / upper && *ratio.high <= upper) {
    return ChangeVerdict::kNoChange;
  }
  const bool less_is_better = rule.better == base::Direction::kAtMost;
  if (*ratio.high < 1) {
    return less_is_better ? ChangeVerdict::kImproved : ChangeVerdict::kRegressed;
  }
  if (*ratio.low > 1) {
    return less_is_better ? ChangeVerdict::kRegressed : ChangeVerdict::kImproved;
  }
  return ChangeVerdict::kInconclusive;
}

ChangeDecision CompareRuns(std::span<const double> before,
                           std::span<const double> after, const ChangeRule& rule) {
  base::Estimate ratio = LogRatioInterval(after, before, "runs", rule.confidence);
  const std::vector<double> a = Logs(before);
  const std::vector<double> b = Logs(after);
  std::optional<int64_t> needed;
  if (a.size() > 1 && b.size() > 1) {
    const double deviation = std::sqrt((Variance(a) + Variance(b)) / 2);
    needed = RunsPerSide(EffectToSee(ratio, rule), deviation,
                         {.power = rule.power, .alpha = 1 - rule.confidence});
  }
  const auto have = static_cast<int64_t>(std::min(before.size(), after.size()));
  return Decide(std::move(ratio), needed, have, rule);
}

ChangeDecision ComparePairedRuns(std::span<const double> before,
                                 std::span<const double> after,
                                 const ChangeRule& rule) {
  base::Estimate ratio =
      PairedLogRatioInterval(after, before, "pairs", rule.confidence);
  std::vector<double> a = Logs(before);
  const std::vector<double> b = Logs(after);
  std::optional<int64_t> needed;
  if (a.size() > 1 && a.size() == b.size()) {
    for (size_t i = 0; i < a.size(); ++i) a[i] = b[i] - a[i];
    needed = PairsNeeded(EffectToSee(ratio, rule), std::sqrt(Variance(a)),
                         {.power = rule.power, .alpha = 1 - rule.confidence});
  }
  return Decide(std::move(ratio), needed, static_cast<int64_t>(before.size()), rule);
}

}  // namespace stepslack::stats

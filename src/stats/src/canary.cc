#include "stepslack/stats/canary.h"

#include <algorithm>
#include <cmath>

#include "sample.h"
#include "stepslack/stats/anderson_darling.h"
#include "stepslack/stats/exact_tests.h"

namespace stepslack::stats {
namespace {

bool AllEqual(std::span<const double> x, std::span<const double> y) {
  const auto same = [&](double v) { return v == x.front(); };
  return std::all_of(x.begin(), x.end(), same) && std::all_of(y.begin(), y.end(), same);
}

CanaryClass Classify(const CanaryJudgement& judgement, const CanaryOptions& options) {
  const base::Estimate& shift = judgement.shift;
  const double bound = options.tolerance * std::fabs(*shift.value);
  const double ratio = judgement.mean_ratio.value_or(1.0);
  const bool unknown = !judgement.mean_ratio.has_value();
  if (*shift.low > bound && (unknown || ratio >= options.allowed_increase)) {
    return CanaryClass::kHigh;
  }
  if (*shift.high < -bound && (unknown || ratio <= options.allowed_decrease)) {
    return CanaryClass::kLow;
  }
  return CanaryClass::kPass;
}

int64_t Count(const CanaryGroup& group, CanaryClass wanted) {
  return std::count(group.metrics.begin(), group.metrics.end(), wanted);
}

double GroupScore(const CanaryGroup& group) {
  const int64_t pass = Count(group, CanaryClass::kPass);
  const auto judged =
      static_cast<int64_t>(group.metrics.size()) - Count(group, CanaryClass::kNodata);
  if (judged == 0) return 100;
  return 100 * static_cast<double>(pass) / static_cast<double>(judged);
}

}  // namespace

std::string_view ToString(CanaryClass canary_class) {
  switch (canary_class) {
    case CanaryClass::kPass:
      return "Pass";
    case CanaryClass::kHigh:
      return "High";
    case CanaryClass::kLow:
      return "Low";
    case CanaryClass::kNodata:
      return "Nodata";
    case CanaryClass::kError:
      return "Error";
  }
  return "";
}

CanaryJudgement JudgeCanary(std::span<const double> canary,
                            std::span<const double> baseline,
                            const CanaryOptions& options) {
  CanaryJudgement judgement;
  if (canary.empty() || baseline.empty()) {
    judgement.method = "a side has no data";
    return judgement;
  }
  judgement.canary_class = CanaryClass::kError;
  if (!AllFinite(canary) || !AllFinite(baseline)) {
    judgement.method = "a value is not finite";
    return judgement;
  }
  if (const double mean = Mean(baseline); mean != 0) {
    judgement.mean_ratio = Mean(canary) / mean;
  }
  judgement.shift =
      HodgesLehmannShift(canary, baseline, "1", "values", options.confidence);
  judgement.method = judgement.shift.method;
  if (AllEqual(canary, baseline)) {
    judgement.canary_class = CanaryClass::kPass;
    judgement.method = "all values are equal";
    return judgement;
  }
  judgement.tail_p =
      AndersonDarlingTest(canary, baseline,
                          {.resamples = options.resamples, .seed = options.seed})
          .p;
  if (!judgement.shift.low.has_value() || !judgement.shift.high.has_value()) {
    return judgement;
  }
  judgement.canary_class = Classify(judgement, options);
  return judgement;
}

CanaryScore ScoreCanary(const std::map<std::string, CanaryGroup, std::less<>>& groups) {
  CanaryScore score;
  double weights = 0;
  double sum = 0;
  size_t metrics = 0;
  int64_t nodata = 0;
  for (const auto& [name, group] : groups) {
    const double of_group = GroupScore(group);
    score.groups[name] = of_group;
    const double weight = std::isfinite(group.weight) ? std::max(0.0, group.weight) : 0;
    weights += weight;
    sum += weight * of_group;
    metrics += group.metrics.size();
    nodata += Count(group, CanaryClass::kNodata);
    const auto pass = static_cast<size_t>(Count(group, CanaryClass::kPass));
    if (group.critical && pass < group.metrics.size() && score.reason.empty()) {
      score.reason = "a metric of the critical group " + name + " is not Pass";
    }
  }
  if (metrics == 0) score.reason = "no metric";
  if (weights == 0 && metrics > 0) score.reason = "all weights are 0";
  if (score.reason.empty() && 2 * nodata >= static_cast<int64_t>(metrics)) {
    score.reason = "half of the metrics or more have no data";
  }
  if (score.reason.empty()) score.summary = std::round(100 * sum / weights) / 100;
  return score;
}

}  // namespace stepslack::stats

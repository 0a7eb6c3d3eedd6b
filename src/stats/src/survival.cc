#include "stepslack/stats/survival.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "sample.h"
#include "stepslack/stats/distributions.h"
#include "stepslack/stats/intervals.h"

namespace stepslack::stats {
namespace {

using base::Estimate;

std::vector<Duration> UsableSorted(std::span<const Duration> durations) {
  std::vector<Duration> usable;
  for (const Duration& d : durations) {
    if (std::isfinite(d.time) && d.time >= 0) usable.push_back(d);
  }
  std::sort(usable.begin(), usable.end(),
            [](const Duration& a, const Duration& b) { return a.time < b.time; });
  return usable;
}

bool IsHalf(double survival) { return std::fabs(survival - 0.5) < 1e-12; }

// Events and members at risk of one group at one time.
struct RiskSet {
  double events = 0;
  double at_risk = 0;
};

RiskSet RiskSetAt(std::span<const Duration> durations, double time) {
  RiskSet set;
  for (const Duration& d : durations) {
    if (d.time >= time) set.at_risk += 1;
    if (d.time == time && d.reached) set.events += 1;
  }
  return set;
}

// Area under the curve from `begin` to `horizon`, where `begin` is 0 or an event time.
double AreaFrom(const SurvivalCurve& curve, double begin, double horizon) {
  double area = 0;
  double time = begin;
  double survival = 1;
  for (const SurvivalStep& step : curve.steps) {
    if (step.time >= horizon) break;
    if (step.time > time) {
      area += survival * (step.time - time);
      time = step.time;
    }
    survival = step.survival;
  }
  return area + survival * (horizon - time);
}

double RestrictedMeanVariance(const SurvivalCurve& curve, double horizon) {
  double variance = 0;
  for (const SurvivalStep& step : curve.steps) {
    if (step.time >= horizon || step.at_risk == step.events) continue;
    const double area = AreaFrom(curve, step.time, horizon);
    const double risk = static_cast<double>(step.at_risk);
    const double events = static_cast<double>(step.events);
    variance += area * area * events / (risk * (risk - events));
  }
  return variance;
}

}  // namespace

SurvivalCurve KaplanMeier(std::span<const Duration> durations, double confidence) {
  SurvivalCurve curve;
  const std::vector<Duration> sorted = UsableSorted(durations);
  curve.n = static_cast<int64_t>(sorted.size());
  if (sorted.empty()) return curve;
  curve.last_time = sorted.back().time;
  const double z =
      IsConfidence(confidence) ? NormalQuantile(0.5 + confidence / 2) : 0.0;
  double survival = 1;
  double greenwood = 0;
  for (size_t begin = 0; begin < sorted.size();) {
    size_t end = begin;
    int64_t events = 0;
    while (end < sorted.size() && sorted[end].time == sorted[begin].time) {
      events += sorted[end++].reached ? 1 : 0;
    }
    if (events > 0) {
      const double risk = static_cast<double>(sorted.size() - begin);
      const double count = static_cast<double>(events);
      survival *= (risk - count) / risk;
      if (risk > count) greenwood += count / (risk * (risk - count));
      SurvivalStep step;
      step.time = sorted[begin].time;
      step.at_risk = static_cast<int64_t>(sorted.size() - begin);
      step.events = events;
      step.survival = survival;
      if (survival > 0) {
        const double factor = std::exp(z * std::sqrt(greenwood));
        step.standard_error = survival * std::sqrt(greenwood);
        step.low = survival / factor;
        step.high = std::min(1.0, survival * factor);
      } else {
        step.low = step.high = 0;  // no interval: Greenwood's error is not defined here
      }
      curve.events += events;
      curve.steps.push_back(step);
    }
    begin = end;
  }
  return curve;
}

Estimate MedianTime(std::span<const Duration> durations, std::string_view unit,
                    std::string_view n_of, double confidence) {
  if (!IsConfidence(confidence)) {
    return NotEstimated(unit, 0, n_of, confidence, "confidence is not between 0 and 1");
  }
  const SurvivalCurve curve = KaplanMeier(durations, confidence);
  const auto& steps = curve.steps;
  const auto first_at_half = [&](double SurvivalStep::*level) {
    return std::find_if(steps.begin(), steps.end(), [&](const SurvivalStep& step) {
      return step.*level <= 0.5 || IsHalf(step.*level);
    });
  };
  const auto median = first_at_half(&SurvivalStep::survival);
  if (median == steps.end()) {
    return NotEstimated(
        unit, curve.n, n_of, confidence,
        fmt::format("median not reached: {} of {} arrived", curve.events, curve.n));
  }
  double value = median->time;
  if (IsHalf(median->survival) && median + 1 != steps.end()) {
    value = 0.5 * (value + (median + 1)->time);
  }
  Estimate estimate = PointOnly(value, unit, curve.n, n_of, confidence, "");
  const auto low = first_at_half(&SurvivalStep::low);
  estimate.low = low->time;
  const auto high = first_at_half(&SurvivalStep::high);
  // Where the curve has come down to zero the error is not defined, so a bound that is
  // met only there is not a bound.
  if (high != steps.end() && high->survival > 0) estimate.high = high->time;
  estimate.method = fmt::format("Kaplan-Meier median, log interval{}, {} of {} arrived",
                                estimate.high.has_value() ? "" : " without upper bound",
                                curve.events, curve.n);
  return estimate;
}

Estimate RestrictedMeanTime(std::span<const Duration> durations, double horizon,
                            std::string_view unit, std::string_view n_of,
                            double confidence) {
  const SurvivalCurve curve = KaplanMeier(durations, 0.95);
  if (!std::isfinite(horizon) || horizon <= 0 || !IsConfidence(confidence)) {
    return NotEstimated(unit, curve.n, n_of, confidence,
                        "horizon or confidence is out of range");
  }
  if (curve.n == 0) return NotEstimated(unit, 0, n_of, confidence, "no durations");
  const bool ends_at_zero = !curve.steps.empty() && curve.steps.back().survival == 0;
  if (horizon > curve.last_time && !ends_at_zero) {
    return NotEstimated(unit, curve.n, n_of, confidence,
                        "the horizon lies beyond the last observation");
  }
  std::vector<double> restricted;
  bool censored_before = false;
  for (const Duration& d : UsableSorted(durations)) {
    if (!d.reached && d.time < horizon) censored_before = true;
    restricted.push_back(std::min(d.time, horizon));
  }
  const std::string name = fmt::format("mean of min(time, {:.6g} {})", horizon, unit);
  if (!censored_before) {
    Estimate estimate = MeanInterval(restricted, unit, n_of, confidence);
    estimate.method = estimate.low.has_value() ? name + ", t interval" : name;
    return estimate;
  }
  Estimate estimate = PointOnly(AreaFrom(curve, 0, horizon), unit, curve.n, n_of,
                                confidence, name + ", Kaplan-Meier area");
  if (curve.n < 2) return estimate;
  const double half_width =
      StudentQuantile(0.5 + confidence / 2, static_cast<double>(curve.n - 1)) *
      std::sqrt(RestrictedMeanVariance(curve, horizon));
  estimate.low = std::max(0.0, *estimate.value - half_width);
  estimate.high = std::min(horizon, *estimate.value + half_width);
  estimate.method += ", t interval on Greenwood's error";
  return estimate;
}

TestResult LogRankTest(std::span<const Duration> a, std::span<const Duration> b) {
  TestResult result;
  const std::vector<Duration> group_a = UsableSorted(a);
  const std::vector<Duration> group_b = UsableSorted(b);
  std::vector<Duration> pooled = group_a;
  pooled.insert(pooled.end(), group_b.begin(), group_b.end());
  const SurvivalCurve curve = KaplanMeier(pooled);
  double observed = 0;
  double expected = 0;
  double variance = 0;
  for (const SurvivalStep& step : curve.steps) {
    const RiskSet set = RiskSetAt(group_a, step.time);
    const double risk = static_cast<double>(step.at_risk);
    const double events = static_cast<double>(step.events);
    const double share = set.at_risk / risk;
    observed += set.events;
    expected += events * share;
    if (risk > 1) {
      variance += events * share * (1 - share) * (risk - events) / (risk - 1);
    }
  }
  if (!(variance > 0)) {
    result.method = "log-rank test needs events while both groups are at risk";
    return result;
  }
  result.statistic = (observed - expected) * (observed - expected) / variance;
  result.p = ChiSquaredUpperTail(*result.statistic, 1);
  result.method = "log-rank test, chi-squared with 1 degree of freedom";
  return result;
}

}  // namespace stepslack::stats

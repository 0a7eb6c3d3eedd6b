#include "stepslack/stats/aggregate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "sample.h"
#include "stepslack/base/random.h"
#include "stepslack/stats/bootstrap.h"

namespace stepslack::stats {
namespace {

int64_t CountRuns(const Strata& strata) {
  size_t count = 0;
  for (const auto& stratum : strata) count += stratum.size();
  return static_cast<int64_t>(count);
}

std::string WhyNot(const Strata& strata, const StratifiedOptions& options) {
  if (strata.empty()) return "no strata";
  for (const auto& stratum : strata) {
    if (stratum.empty()) return "a stratum is empty";
    if (!AllFinite(stratum)) return "a value is not finite";
  }
  if (!IsConfidence(options.confidence)) return "confidence is not between 0 and 1";
  if (options.resamples < 100 || options.resamples > 1'000'000) {
    return "resamples are not between 100 and 1,000,000";
  }
  return "";
}

void Redraw(const Strata& strata, base::Random& random, Strata& drawn) {
  for (size_t s = 0; s < strata.size(); ++s) {
    for (double& value : drawn[s]) {
      value = strata[s][random.Below(strata[s].size())];
    }
  }
}

std::vector<double> Pooled(const Strata& strata) {
  std::vector<double> values;
  for (const auto& s : strata) values.insert(values.end(), s.begin(), s.end());
  return values;
}

double MeanSuperiority(std::span<const std::vector<double>> x,
                       std::span<const std::vector<double>> y) {
  double sum = 0;
  for (size_t task = 0; task < x.size(); ++task) {
    const std::vector<double> sorted = Sorted(x[task]);
    double wins = 0;
    for (double v : y[task]) {
      const auto [low, high] = std::equal_range(sorted.begin(), sorted.end(), v);
      wins += static_cast<double>(low - sorted.begin()) +
              0.5 * static_cast<double>(high - low);
    }
    sum += wins /
           (static_cast<double>(x[task].size()) * static_cast<double>(y[task].size()));
  }
  return sum / static_cast<double>(x.size());
}

}  // namespace

double TrimmedMean(std::span<const double> values, double share) {
  if (values.empty() || !(share >= 0 && share < 0.5) || !AllFinite(values)) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  const std::vector<double> sorted = Sorted(values);
  const auto cut = static_cast<size_t>(share * static_cast<double>(sorted.size()));
  return Mean(std::span(sorted).subspan(cut, sorted.size() - 2 * cut));
}

double InterquartileMean(std::span<const double> values) {
  return TrimmedMean(values, 0.25);
}

base::Estimate StratifiedBootstrap(const Strata& strata,
                                   const StrataStatistic& statistic,
                                   std::string_view unit, std::string_view n_of,
                                   const StratifiedOptions& options) {
  const int64_t n = CountRuns(strata);
  const std::string reason = WhyNot(strata, options);
  if (!reason.empty()) return NotEstimated(unit, n, n_of, options.confidence, reason);
  const double value = statistic(strata);
  if (!std::isfinite(value)) {
    return NotEstimated(unit, n, n_of, options.confidence,
                        "the statistic is not finite");
  }
  base::Random random(base::DeriveSeed(options.seed, "stratified bootstrap"));
  Strata drawn = strata;
  std::vector<double> replicates;
  for (int64_t r = 0; r < options.resamples; ++r) {
    Redraw(strata, random, drawn);
    const double replicate = statistic(drawn);
    if (std::isfinite(replicate)) replicates.push_back(replicate);
  }
  std::sort(replicates.begin(), replicates.end());
  const auto left_out = options.resamples - static_cast<int64_t>(replicates.size());
  base::Estimate estimate =
      PointOnly(value, unit, n, n_of, options.confidence,
                fmt::format("stratified bootstrap, percentile, {} resamples, seed {}",
                            options.resamples, options.seed));
  if (left_out > 0) estimate.method += fmt::format(", {} not finite", left_out);
  if (replicates.empty() || n == static_cast<int64_t>(strata.size())) {
    // One run a stratum draws only itself: an interval of width zero would lie.
    estimate.method += "; no interval from one run a stratum";
    return estimate;
  }
  estimate.low = QuantileOfSorted(replicates, (1 - options.confidence) / 2);
  estimate.high = QuantileOfSorted(replicates, (1 + options.confidence) / 2);
  return estimate;
}

base::Estimate InterquartileMeanEstimate(const Strata& tasks, std::string_view unit,
                                         const StratifiedOptions& options) {
  base::Estimate estimate = StratifiedBootstrap(
      tasks, [](const Strata& s) { return InterquartileMean(Pooled(s)); }, unit, "runs",
      options);
  estimate.method = "interquartile mean, 25 % cut off each end; " + estimate.method;
  return estimate;
}

base::Estimate ProbabilityOfImprovement(const Strata& x, const Strata& y,
                                        const StratifiedOptions& options) {
  if (x.size() != y.size()) {
    return NotEstimated("1", CountRuns(x) + CountRuns(y), "runs", options.confidence,
                        "the two sides have different numbers of tasks");
  }
  Strata both = x;
  both.insert(both.end(), y.begin(), y.end());
  base::Estimate estimate = StratifiedBootstrap(
      both,
      [](const Strata& s) {
        const auto half = std::span(s).first(s.size() / 2);
        return MeanSuperiority(half, std::span(s).subspan(s.size() / 2));
      },
      "1", "runs", options);
  estimate.method = "P(y > x) with half of ties, mean over tasks; " + estimate.method;
  return estimate;
}

}  // namespace stepslack::stats

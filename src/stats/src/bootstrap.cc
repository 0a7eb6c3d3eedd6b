#include "stepslack/stats/bootstrap.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>

#include "sample.h"
#include "stepslack/base/random.h"
#include "stepslack/stats/distributions.h"
#include "stepslack/stats/intervals.h"

namespace stepslack::stats {
namespace {

using base::Estimate;

constexpr int64_t kMaxEnumerated = 50'000;
constexpr int64_t kLeastResamples = 100;
constexpr int64_t kMostResamples = 1'000'000;

double Ratio(std::span<const ClusterSums> clusters) {
  ClusterSums total;
  for (const ClusterSums& cluster : clusters) {
    total.numerator += cluster.numerator;
    total.denominator += cluster.denominator;
  }
  return total.numerator / total.denominator;
}

bool IsEmpty(const ClusterSums& cluster) {
  return cluster.numerator == 0 && cluster.denominator == 0;
}

std::string Refusal(std::span<const ClusterSums> clusters,
                    const BootstrapOptions& options) {
  if (clusters.empty()) return "no clusters";
  for (const ClusterSums& cluster : clusters) {
    if (!std::isfinite(cluster.numerator) || !std::isfinite(cluster.denominator)) {
      return "a cluster's sum is not finite";
    }
    if (cluster.denominator <= 0) return "a cluster's denominator is not positive";
  }
  if (!IsConfidence(options.confidence)) return "confidence is not between 0 and 1";
  if (options.resamples < kLeastResamples || options.resamples > kMostResamples) {
    return "resamples are not between 100 and 1,000,000";
  }
  if (!std::isfinite(Ratio(clusters))) return "the ratio is out of range";
  return "";
}

// n^n when it is at most kMaxEnumerated, else 0.
int64_t EnumerationSize(size_t n) {
  int64_t size = 1;
  for (size_t i = 0; i < n; ++i) {
    size *= static_cast<int64_t>(n);
    if (size > kMaxEnumerated) return 0;
  }
  return size;
}

// Standard error of the ratio from residuals numerator - ratio * denominator.
double LinearisedError(std::span<const ClusterSums> clusters, double ratio) {
  double squares = 0;
  double denominator = 0;
  for (const ClusterSums& cluster : clusters) {
    const double residual = cluster.numerator - ratio * cluster.denominator;
    squares += residual * residual;
    denominator += cluster.denominator;
  }
  const double n = static_cast<double>(clusters.size());
  return std::sqrt(n / (n - 1) * squares) / denominator;
}

std::vector<double> LeaveOneOut(std::span<const ClusterSums> clusters) {
  std::vector<double> ratios;
  std::vector<ClusterSums> others;
  for (size_t left_out = 0; left_out < clusters.size(); ++left_out) {
    others.assign(clusters.begin(), clusters.end());
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(left_out));
    ratios.push_back(Ratio(others));
  }
  return ratios;
}

// Jackknife error of log(ratio); absent when a leave-one-out ratio is not positive.
std::optional<double> JackknifeLogError(std::span<const ClusterSums> clusters,
                                        double ratio) {
  const double n = static_cast<double>(clusters.size());
  double squares = 0;
  for (double other : LeaveOneOut(clusters)) {
    if (!(other > 0) || !(ratio > 0)) return std::nullopt;
    const double distance = std::log(other / ratio);
    squares += distance * distance;
  }
  return std::sqrt((n - 1) / n * squares);
}

void SetSmallSampleInterval(Estimate& estimate, std::span<const ClusterSums> clusters) {
  const double ratio = *estimate.value;
  const double degrees = static_cast<double>(clusters.size() - 1);
  const double t = StudentQuantile(0.5 + estimate.confidence / 2, degrees);
  if (const auto error = JackknifeLogError(clusters, ratio)) {
    const double factor = std::exp(t * *error);
    estimate.low = ratio / factor;
    // Two wild clusters can push this beyond any number; then there is no upper bound.
    if (std::isfinite(ratio * factor)) estimate.high = ratio * factor;
    estimate.method =
        fmt::format("t interval on logs, jackknife over {} clusters", clusters.size());
    return;
  }
  const double half_width = t * LinearisedError(clusters, ratio);
  estimate.low = ratio - half_width;
  estimate.high = ratio + half_width;
  estimate.method =
      fmt::format("t interval of the linearised ratio, {} clusters", clusters.size());
}

void SetBootstrapInterval(Estimate& estimate, std::span<const ClusterSums> clusters,
                          const BootstrapOptions& options) {
  const BootstrapDistribution distribution =
      ResampleRatio(clusters, options.resamples, options.seed);
  const double n = static_cast<double>(clusters.size());
  double low = (1 - options.confidence) / 2;
  std::string_view name = "percentile";
  double high = 1 - low;
  if (options.interval == BootstrapInterval::kExpandedPercentile) {
    name = "expanded percentile";
    const double reach = std::sqrt(n / (n - 1)) * StudentQuantile(high, n - 1);
    low = NormalCdf(-reach);
    high = NormalCdf(reach);
  } else if (options.interval == BootstrapInterval::kBca) {
    const BcaLevels levels = ComputeBcaLevels(distribution, options.confidence);
    if (levels.usable) {
      name = "BCa";
      low = levels.low;
      high = levels.high;
    } else {
      name = "percentile (BCa not defined)";
    }
  }
  estimate.low = QuantileOfSorted(distribution.replicates, low);
  estimate.high = QuantileOfSorted(distribution.replicates, high);
  estimate.method =
      distribution.exact
          ? fmt::format("cluster bootstrap, {}, all {} resamples", name,
                        distribution.replicates.size())
          : fmt::format("cluster bootstrap, {}, {} resamples, seed {}", name,
                        distribution.replicates.size(), options.seed);
}

}  // namespace

BootstrapDistribution ResampleRatio(std::span<const ClusterSums> clusters,
                                    int64_t resamples, uint64_t seed) {
  BootstrapDistribution result;
  const size_t n = clusters.size();
  result.value = Ratio(clusters);
  const int64_t all = EnumerationSize(n);
  result.exact = all > 0;
  const int64_t count = result.exact ? all : resamples;
  result.replicates.reserve(static_cast<size_t>(count));
  base::Random random(base::DeriveSeed(seed, "cluster bootstrap"));
  for (int64_t i = 0; i < count; ++i) {
    ClusterSums total;
    auto digits = static_cast<uint64_t>(i);  // resample i in base n
    for (size_t draw = 0; draw < n; ++draw) {
      const uint64_t pick = result.exact ? digits % n : random.Below(n);
      digits /= n;
      total.numerator += clusters[pick].numerator;
      total.denominator += clusters[pick].denominator;
    }
    result.replicates.push_back(total.numerator / total.denominator);
  }
  std::sort(result.replicates.begin(), result.replicates.end());
  if (n >= 2) result.jackknife = LeaveOneOut(clusters);
  return result;
}

double QuantileOfSorted(std::span<const double> sorted, double level) {
  if (sorted.empty() || std::isnan(level)) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  const double position =
      std::clamp(level, 0.0, 1.0) * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(position);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  const double weight = position - static_cast<double>(below);
  return sorted[below] + weight * (sorted[above] - sorted[below]);
}

BcaLevels ComputeBcaLevels(const BootstrapDistribution& distribution,
                           double confidence) {
  BcaLevels levels;
  // Resamples that equal the sample up to the order of summation are ties.
  const double tolerance = 1e-12 * std::fabs(distribution.value);
  double below = 0;
  for (double replicate : distribution.replicates) {
    const double distance = replicate - distribution.value;
    if (std::fabs(distance) <= tolerance) {
      below += 0.5;
    } else if (distance < 0) {
      below += 1;
    }
  }
  const double share = below / static_cast<double>(distribution.replicates.size());
  if (!(share > 0 && share < 1) || !IsConfidence(confidence)) return levels;
  levels.bias = NormalQuantile(share);
  const double mean = Mean(distribution.jackknife);
  double squares = 0;
  double cubes = 0;
  for (double value : distribution.jackknife) {
    const double u = mean - value;
    squares += u * u;
    cubes += u * u * u;
  }
  levels.acceleration = squares > 0 ? cubes / (6 * std::pow(squares, 1.5)) : 0.0;
  const auto level = [&](double z) {
    const double shifted = levels.bias + z;
    return NormalCdf(levels.bias + shifted / (1 - levels.acceleration * shifted));
  };
  levels.low = level(NormalQuantile((1 - confidence) / 2));
  levels.high = level(NormalQuantile((1 + confidence) / 2));
  levels.usable = levels.low < levels.high;
  return levels;
}

Estimate ClusterRatio(std::span<const ClusterSums> clusters,
                      const BootstrapOptions& options) {
  std::vector<ClusterSums> kept;
  for (const ClusterSums& cluster : clusters) {
    if (!IsEmpty(cluster)) kept.push_back(cluster);
  }
  const auto n = static_cast<int64_t>(kept.size());
  if (auto reason = Refusal(kept, options); !reason.empty()) {
    return NotEstimated(options.unit, n, options.n_of, options.confidence, reason);
  }
  Estimate estimate =
      PointOnly(Ratio(kept), options.unit, n, options.n_of, options.confidence,
                "ratio of sums; an interval needs two clusters");
  if (n < 2) return estimate;
  if (n < kLeastBootstrapClusters) {
    SetSmallSampleInterval(estimate, kept);
  } else {
    SetBootstrapInterval(estimate, kept, options);
  }
  return estimate;
}

Estimate ClusterMean(std::span<const double> cluster_means,
                     const BootstrapOptions& options) {
  std::vector<ClusterSums> clusters;
  for (double mean : cluster_means) clusters.push_back({mean, 1.0});
  return ClusterRatio(clusters, options);
}

Estimate ClusterShare(std::span<const ClusterSums> clusters,
                      const BootstrapOptions& options) {
  Estimate estimate = ClusterRatio(clusters, options);
  if (!estimate.low.has_value()) return estimate;
  bool all_zero = true;
  bool all_one = true;
  for (const ClusterSums& cluster : clusters) {
    if (IsEmpty(cluster)) continue;
    all_zero = all_zero && cluster.numerator == 0;
    all_one = all_one && cluster.numerator >= cluster.denominator;
  }
  if (all_zero || all_one) {
    const Estimate bound = ClopperPearsonInterval(all_one ? estimate.n : 0, estimate.n,
                                                  options.n_of, options.confidence);
    estimate.low = bound.low;
    estimate.high = bound.high;
    estimate.method =
        fmt::format("Clopper-Pearson over clusters, all at {}", all_one ? 1 : 0);
    return estimate;
  }
  estimate.low = std::clamp(*estimate.low, 0.0, 1.0);
  if (estimate.high.has_value()) estimate.high = std::clamp(*estimate.high, 0.0, 1.0);
  return estimate;
}

}  // namespace stepslack::stats

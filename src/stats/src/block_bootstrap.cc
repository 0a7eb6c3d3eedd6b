#include "stepslack/stats/block_bootstrap.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "sample.h"
#include "stepslack/base/random.h"
#include "stepslack/stats/bootstrap.h"

namespace stepslack::stats {
namespace {

constexpr size_t kLeastValues = 8;
constexpr double kMaxWork = 2e9;

double Covariance(std::span<const double> values, double mean, size_t lag) {
  double sum = 0;
  for (size_t i = lag; i < values.size(); ++i) {
    sum += (values[i] - mean) * (values[i - lag] - mean);
  }
  return sum / static_cast<double>(values.size());
}

// Smallest lag m after which K_n autocorrelations in a row are insignificant (Politis
// and White 2004, section 3, c = 2).
size_t InsignificantFrom(std::span<const double> values, size_t most) {
  const double n = static_cast<double>(values.size());
  const double bound = 2 * std::sqrt(std::log10(n) / n);
  const auto in_a_row =
      static_cast<size_t>(std::max(5.0, std::ceil(std::sqrt(std::log10(n)))));
  size_t quiet = 0;
  size_t last_loud = 0;
  for (size_t lag = 1; lag <= most && quiet < in_a_row; ++lag) {
    const bool loud =
        std::fabs(Autocorrelation(values, static_cast<int64_t>(lag))) > bound;
    quiet = loud ? 0 : quiet + 1;
    if (loud) last_loud = lag;
  }
  return last_loud;
}

double CircularMean(std::span<const double> prefix, size_t n, size_t block,
                    base::Random& random) {
  double sum = 0;
  for (size_t filled = 0; filled < n;) {
    const size_t start = random.Below(n);
    const size_t length = std::min(block, n - filled);
    const size_t end = start + length;
    sum += end <= n ? prefix[end] - prefix[start]
                    : prefix[n] - prefix[start] + prefix[end - n];
    filled += length;
  }
  return sum / static_cast<double>(n);
}

std::string WhyNot(std::span<const double> values,
                   const BlockBootstrapOptions& options) {
  if (values.empty()) return "no values";
  if (!AllFinite(values)) return "a value is not finite";
  if (!IsConfidence(options.confidence)) return "confidence is not between 0 and 1";
  if (options.resamples < 100 || options.resamples > 1'000'000) {
    return "resamples are not between 100 and 1,000,000";
  }
  const double work =
      static_cast<double>(values.size()) * static_cast<double>(options.resamples);
  return work > kMaxWork ? "too many values for so many resamples" : "";
}

}  // namespace

double Autocorrelation(std::span<const double> values, int64_t lag) {
  const auto n = static_cast<int64_t>(values.size());
  if (lag < 0 || lag >= n || !AllFinite(values)) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  const double mean = Mean(values);
  return Covariance(values, mean, static_cast<size_t>(lag)) /
         Covariance(values, mean, 0);
}

double EffectiveSampleSize(std::span<const double> values) {
  const double n = static_cast<double>(values.size());
  if (values.size() < 4 || !AllFinite(values) || Variance(values) == 0) return n;
  const size_t most = std::min<size_t>(values.size() / 2, 1000);
  const double mean = Mean(values);
  const double variance = Covariance(values, mean, 0);
  double time = -1;  // 2 * (sum over lags >= 0) - 1
  for (size_t lag = 0; lag + 1 < most; lag += 2) {
    const double pair =
        (Covariance(values, mean, lag) + Covariance(values, mean, lag + 1)) / variance;
    if (pair <= 0) break;
    time += 2 * pair;
  }
  return std::clamp(n / std::max(time, 1e-9), 1.0, n);
}

int64_t AutomaticBlock(std::span<const double> values) {
  if (values.size() < kLeastValues || !AllFinite(values) || Variance(values) == 0) {
    return 1;
  }
  const double n = static_cast<double>(values.size());
  const auto limit = std::ceil(std::min(3 * std::sqrt(n), n / 4));
  const auto most = static_cast<size_t>(std::min(n / 2, std::sqrt(n) + 20));
  const size_t loud = InsignificantFrom(values, most);
  const size_t window = std::min(2 * std::max<size_t>(loud, 1), most);
  const double mean = Mean(values);
  double spectrum = Covariance(values, mean, 0);
  double slope = 0;
  for (size_t lag = 1; lag <= window; ++lag) {
    const double place = static_cast<double>(lag) / static_cast<double>(window);
    const double weight = place <= 0.5 ? 1 : 2 * (1 - place);  // flat-top
    const double term = 2 * weight * Covariance(values, mean, lag);
    spectrum += term;
    slope += static_cast<double>(lag) * term;
  }
  if (loud == 0 || !(spectrum > 0)) return loud == 0 ? 1 : static_cast<int64_t>(limit);
  // b = (2 G^2 / D)^(1/3) n^(1/3), D = 4/3 g(0)^2 for the circular bootstrap.
  const double block = std::cbrt(1.5 * slope * slope / (spectrum * spectrum) * n);
  return static_cast<int64_t>(std::clamp(std::ceil(block), 1.0, limit));
}

base::Estimate BlockBootstrapMean(std::span<const double> values, std::string_view unit,
                                  std::string_view n_of,
                                  const BlockBootstrapOptions& options) {
  const auto n = static_cast<int64_t>(values.size());
  const std::string reason = WhyNot(values, options);
  if (!reason.empty()) return NotEstimated(unit, n, n_of, options.confidence, reason);
  const int64_t block = options.block > 0 ? options.block : AutomaticBlock(values);
  base::Estimate estimate = PointOnly(Mean(values), unit, n, n_of, options.confidence,
                                      "mean; too few values for a block bootstrap");
  if (values.size() < kLeastValues || block > n / 4) return estimate;
  std::vector<double> prefix(values.size() + 1, 0.0);
  for (size_t i = 0; i < values.size(); ++i) prefix[i + 1] = prefix[i] + values[i];
  base::Random random(base::DeriveSeed(options.seed, "block bootstrap"));
  std::vector<double> means;
  for (int64_t r = 0; r < options.resamples; ++r) {
    means.push_back(
        CircularMean(prefix, values.size(), static_cast<size_t>(block), random));
  }
  std::sort(means.begin(), means.end());
  estimate.low = QuantileOfSorted(means, (1 - options.confidence) / 2);
  estimate.high = QuantileOfSorted(means, (1 + options.confidence) / 2);
  estimate.method = fmt::format(
      "circular block bootstrap, blocks of {}, {} resamples, seed {}, effective n "
      "{:.0f}",
      block, options.resamples, options.seed, EffectiveSampleSize(values));
  return estimate;
}

}  // namespace stepslack::stats

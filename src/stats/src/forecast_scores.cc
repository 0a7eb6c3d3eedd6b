#include "stepslack/stats/forecast_scores.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sample.h"
#include "stepslack/stats/distributions.h"

namespace stepslack::stats {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr int kMaxLevels = 1'000'000;
constexpr double kPi = 3.14159265358979323846;
// Levels such as 0.3 are not exact in binary, and neither is (n + 1)(1 - alpha).
constexpr double kRounding = 1e-9;

bool IsForecast(const GaussianForecast& f) {
  return std::isfinite(f.mu) && std::isfinite(f.sigma) && f.sigma > 0;
}

}  // namespace

double CrpsGaussian(const GaussianForecast& forecast, double y) {
  if (!IsForecast(forecast) || !std::isfinite(y)) return kNan;
  const double z = (y - forecast.mu) / forecast.sigma;
  const double density = std::exp(-z * z / 2) / std::sqrt(2 * kPi);
  return forecast.sigma *
         (z * (2 * NormalCdf(z) - 1) + 2 * density - 1 / std::sqrt(kPi));
}

double PitGaussian(const GaussianForecast& forecast, double y) {
  if (!IsForecast(forecast)) return kNan;
  return NormalCdf((y - forecast.mu) / forecast.sigma);
}

double CrpsEnsemble(std::span<const double> ensemble, double y, EnsembleCrps kind) {
  const bool fair = kind == EnsembleCrps::kFair;
  if (ensemble.size() < (fair ? 2U : 1U) || !AllFinite(ensemble) || !std::isfinite(y)) {
    return kNan;
  }
  const std::vector<double> sorted = Sorted(ensemble);
  const double m = static_cast<double>(sorted.size());
  double error = 0;
  double pairs = 0;  // sum over i < j of x_j - x_i
  for (size_t i = 0; i < sorted.size(); ++i) {
    error += std::fabs(sorted[i] - y);
    pairs += (2 * static_cast<double>(i) + 1 - m) * sorted[i];
  }
  return error / m - pairs / (fair ? m * (m - 1) : m * m);
}

double PinballLoss(double tau, double q, double y) {
  if (!(tau > 0 && tau < 1)) return kNan;
  return std::max(tau * (y - q), (tau - 1) * (y - q));
}

double IntervalScore(double low, double high, double y, double alpha) {
  if (!(alpha > 0 && alpha < 1) || !(low <= high)) return kNan;
  const double miss = std::max({low - y, y - high, 0.0});
  return high - low + 2 / alpha * miss;
}

CoverageCurve ComputeCoverageCurve(std::span<const GaussianForecast> forecasts,
                                   std::span<const double> y,
                                   std::span<const double> levels) {
  CoverageCurve curve;
  if (forecasts.empty() || forecasts.size() != y.size() || levels.empty() ||
      !AllFinite(y) || !std::all_of(forecasts.begin(), forecasts.end(), IsForecast)) {
    return curve;
  }
  std::vector<double> least;  // level from which the interval holds y
  for (size_t i = 0; i < y.size(); ++i) {
    least.push_back(std::fabs(2 * PitGaussian(forecasts[i], y[i]) - 1));
  }
  std::sort(least.begin(), least.end());
  double absolute = 0;
  double squares = 0;
  for (double level : levels) {
    const auto inside =
        std::upper_bound(least.begin(), least.end(), level) - least.begin();
    const double share = static_cast<double>(inside) / static_cast<double>(y.size());
    curve.nominal.push_back(level);
    curve.observed.push_back(share);
    absolute += std::fabs(share - level);
    squares += (share - level) * (share - level);
  }
  const double count = static_cast<double>(levels.size());
  curve.mean_absolute_error = absolute / count;
  curve.root_mean_square_error = std::sqrt(squares / count);
  return curve;
}

std::vector<double> EvenLevels(int count) {
  std::vector<double> levels;
  if (count < 2 || count > kMaxLevels) return levels;
  for (int i = 0; i < count; ++i) {
    levels.push_back(static_cast<double>(i) / static_cast<double>(count - 1));
  }
  return levels;
}

std::optional<ConformalQuantile> SplitConformalQuantile(std::span<const double> scores,
                                                        double alpha) {
  const bool has_nan =
      std::any_of(scores.begin(), scores.end(), [](double v) { return std::isnan(v); });
  if (scores.empty() || has_nan || !(alpha > 0 && alpha < 1)) return std::nullopt;
  const double n = static_cast<double>(scores.size());
  ConformalQuantile result;
  result.rank = static_cast<int64_t>(std::ceil((n + 1) * (1 - alpha) - kRounding));
  result.value = std::numeric_limits<double>::infinity();
  if (result.rank <= static_cast<int64_t>(scores.size())) {
    result.value = Sorted(scores)[static_cast<size_t>(result.rank - 1)];
  }
  return result;
}

}  // namespace stepslack::stats

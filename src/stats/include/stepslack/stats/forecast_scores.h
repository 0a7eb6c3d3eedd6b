// Scores of forecasts that state more than a point: a Gaussian, an ensemble, quantiles
// or an interval. Scores are in the unit of the value, less is better.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace stepslack::stats {

// Forecast N(mu, sigma^2) of one value.
struct GaussianForecast {
  double mu = 0;
  double sigma = 1;  // positive
};

// Continuous ranked probability score (Gneiting and Raftery 2007, equation 21): sigma
// (z (2 Phi(z) - 1) + 2 phi(z) - 1 / sqrt(pi)), z = (y - mu) / sigma. NaN unless sigma
// > 0.
double CrpsGaussian(const GaussianForecast& forecast, double y);
// Probability integral transform Phi(z): uniform over many forecasts when calibrated
// (test with KsDistanceToUniform).
double PitGaussian(const GaussianForecast& forecast, double y);

enum class EnsembleCrps {
  kPlain,  // mean |x - y| - sum |xi - xj| / (2 m^2): the ensemble as it is
  kFair    // ... / (2 m (m - 1)): unbiased for the distribution it is drawn from
};
// NaN for an empty ensemble (of fewer than two members when fair). O(m log m).
double CrpsEnsemble(std::span<const double> ensemble, double y, EnsembleCrps kind);

// max(tau (y - q), (tau - 1)(y - q)) for the tau quantile q; tau in (0, 1).
double PinballLoss(double tau, double q, double y);

// Winkler 1972: width + 2 / alpha times the distance by which y misses the interval;
// alpha in (0, 1) is one minus its level. NaN when high < low.
double IntervalScore(double low, double high, double y, double alpha);

struct CoverageCurve {
  std::vector<double> nominal;
  std::vector<double> observed;  // share of y inside the central interval of that level
  std::optional<double> mean_absolute_error;  // "MACE"
  std::optional<double> root_mean_square_error;
};
// Central Gaussian intervals: y is inside when |2 PIT - 1| <= level. Empty for unequal
// lengths, none, or a sigma that is not positive. `levels` in [0, 1]: ours are 0.1, 0.2
// ... 0.9; uncertainty-toolbox takes EvenLevels(100), whose ends are always met.
CoverageCurve ComputeCoverageCurve(std::span<const GaussianForecast> forecasts,
                                   std::span<const double> y,
                                   std::span<const double> levels);
// `count` levels from 0 to 1, both included; empty unless 2 to 1,000,000.
std::vector<double> EvenLevels(int count);

// Split conformal (Papadopoulos et al. 2002; Lei et al. 2018): the k-th smallest score,
// k = ceil((n + 1)(1 - alpha)), infinite when k > n. A new score exceeds it with chance
// at most alpha when all are exchangeable.
struct ConformalQuantile {
  int64_t rank = 0;  // k
  double value = 0;
};
// Nothing when there are no scores, one is NaN, or alpha is outside (0, 1).
std::optional<ConformalQuantile> SplitConformalQuantile(std::span<const double> scores,
                                                        double alpha);

}  // namespace stepslack::stats

// Do predicted probabilities mean what they say? `p[i]` in [0, 1] is the forecast that
// label `y[i]` (0 or 1) is 1. No unit. Results are NaN or empty when the lengths
// differ, nothing is given, a p is outside [0, 1], or a label is neither 0 nor 1.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stepslack::stats {

enum class CalibrationBins {
  kEqualMass,  // ours: groups of equal size in the order of p, ties by input order
  kWidthRightClosed,  // (lo, hi], 0 in the first
  kWidthLeftClosed    // [lo, hi), 1 in the last
};
std::string_view ToString(CalibrationBins bins);

struct ReliabilityBin {
  int64_t n = 0;
  double mean_forecast = 0;
  double observed = 0;  // share of ones
  // Share of ones that a calibrated forecast would give: 5 % and 95 % quantiles of
  // Binomial(n, mean_forecast) / n (consistency bars after Broecker and Smith 2007,
  // in closed form).
  double bar_low = 0;
  double bar_high = 0;
};

struct CalibrationError {
  std::vector<ReliabilityBin> bins;  // empty bins are left out
  std::optional<double> ece;         // sum n_b / n |forecast - observed|
  std::optional<double> mce;         // largest |forecast - observed|
  std::optional<double> l2;          // sqrt(sum n_b / n (forecast - observed)^2)
  // Kumar, Liang and Ma 2019: from every square, observed (1 - observed) / (n_b - 1) is
  // taken; the mean may be negative, and l2_debiased is then 0. Bins of one value are
  // not debiased: absent when there is one.
  std::optional<double> squared_debiased;
  std::optional<double> l2_debiased;
  std::string method;
};

// Plain ECE grows with the number of bins even for a calibrated forecast: read
// l2_debiased beside it. 1 to 10,000 bins; equal mass gives group b the values from
// floor(b n / bins) on.
CalibrationError ComputeCalibrationError(std::span<const double> p,
                                         std::span<const int> y, int bins,
                                         CalibrationBins kind);

// mean (p - y)^2.
double BrierScore(std::span<const double> p, std::span<const int> y);
// 1 - Brier / (share (1 - share)): skill against always forecasting the share of ones.
double BrierSkill(std::span<const double> p, std::span<const int> y);
// Mean of -ln of the forecast of what happened, p clipped to [clip, 1 - clip]; 1e-15 as
// scikit-learn did until 1.2.
double LogLoss(std::span<const double> p, std::span<const int> y, double clip = 1e-15);

// Brier = reliability - resolution + uncertainty (Murphy 1973), exact when forecasts
// take few distinct values: groups are the distinct values of p. Round first otherwise.
struct MurphyParts {
  double reliability = 0;
  double resolution = 0;
  double uncertainty = 0;
};
std::optional<MurphyParts> DecomposeBrier(std::span<const double> p,
                                          std::span<const int> y);
// Rounds to multiples of 1 / parts, halves to the even multiple.
std::vector<double> RoundForecasts(std::span<const double> p, int parts);

// Spiegelhalter 1986: Z = sum (y - p)(1 - 2p) / sqrt(sum (1 - 2p)^2 p (1 - p)), normal
// when the forecasts are calibrated; two-sided p.
struct SpiegelhalterResult {
  std::optional<double> z;
  std::optional<double> p;
  std::string method;
};
SpiegelhalterResult SpiegelhalterTest(std::span<const double> p,
                                      std::span<const int> y);

}  // namespace stepslack::stats

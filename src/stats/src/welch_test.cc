#include <cmath>

#include "sample.h"
#include "stepslack/stats/distributions.h"
#include "stepslack/stats/exact_tests.h"

namespace stepslack::stats {

WelchResult WelchTest(std::span<const double> x, std::span<const double> y,
                      std::string_view unit, std::string_view n_of, double confidence) {
  WelchResult result;
  const auto n = static_cast<int64_t>(x.size() + y.size());
  const bool usable = AllFinite(x) && AllFinite(y) && IsConfidence(confidence);
  if (x.empty() || y.empty() || !usable) {
    result.difference = NotEstimated(
        unit, n, n_of, confidence,
        usable ? "a sample is empty" : "a value or the confidence is out of range");
    return result;
  }
  const double difference = Mean(x) - Mean(y);
  if (x.size() < 2 || y.size() < 2) {
    result.difference = PointOnly(difference, unit, n, n_of, confidence,
                                  "mean difference; Welch needs two values a side");
    return result;
  }
  const double nx = static_cast<double>(x.size());
  const double ny = static_cast<double>(y.size());
  const double vx = Variance(x) / nx;
  const double vy = Variance(y) / ny;
  result.difference =
      PointOnly(difference, unit, n, n_of, confidence, "Welch t interval");
  if (!(vx + vy > 0)) {
    result.difference.low = result.difference.high = difference;
    result.difference.method = "mean difference; neither sample varies";
    return result;
  }
  const double error = std::sqrt(vx + vy);
  const double degrees =
      (vx + vy) * (vx + vy) / (vx * vx / (nx - 1) + vy * vy / (ny - 1));
  result.degrees = degrees;
  result.t = difference / error;
  result.p = StudentTwoSidedP(*result.t, degrees);
  const double half_width = StudentQuantile(0.5 + confidence / 2, degrees) * error;
  result.difference.low = difference - half_width;
  result.difference.high = difference + half_width;
  const double pooled =
      std::sqrt(((nx - 1) * vx * nx + (ny - 1) * vy * ny) / (nx + ny - 2));
  result.cohen_d = difference / pooled;
  result.hedges_g = *result.cohen_d * (1 - 3 / (4 * (nx + ny - 2) - 1));
  return result;
}

}  // namespace stepslack::stats

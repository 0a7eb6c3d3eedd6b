#include "stepslack/stats/sample_distance.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "sample.h"
#include "split_permutation.h"

namespace stepslack::stats {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr size_t kMaxEnergyValues = 5000;

bool Usable(std::span<const double> x, std::span<const double> y) {
  return !x.empty() && !y.empty() && AllFinite(x) && AllFinite(y);
}

// Integral of |F - G|^power, power 1 or 2, over the pooled range.
double Area(std::span<const double> x, std::span<const double> y, int power) {
  const std::vector<double> a = Sorted(x);
  const std::vector<double> b = Sorted(y);
  size_t i = 0;
  size_t j = 0;
  double area = 0;
  double previous = std::min(a.front(), b.front());
  while (i < a.size() || j < b.size()) {
    const bool from_a = j == b.size() || (i < a.size() && a[i] <= b[j]);
    const double t = from_a ? a[i] : b[j];
    const double gap =
        std::fabs(static_cast<double>(i) / static_cast<double>(a.size()) -
                  static_cast<double>(j) / static_cast<double>(b.size()));
    area += (power == 1 ? gap : gap * gap) * (t - previous);
    previous = t;
    from_a ? ++i : ++j;
  }
  return area;
}

double PopulationDeviation(std::span<const double> values) {
  if (values.size() < 2) return 0;
  const double n = static_cast<double>(values.size());
  return std::sqrt(Variance(values) * (n - 1) / n);
}

}  // namespace

double Wasserstein1(std::span<const double> x, std::span<const double> y) {
  return Usable(x, y) ? Area(x, y, 1) : kNan;
}

double NormalisedWasserstein1(std::span<const double> reference,
                              std::span<const double> current, double least_deviation) {
  const double distance = Wasserstein1(reference, current);
  if (std::isnan(distance) || distance == 0) return distance;
  const double divisor = std::max(PopulationDeviation(reference), least_deviation);
  if (divisor == 0) return std::numeric_limits<double>::infinity();
  return distance / divisor;
}

double RangeScaledWasserstein1(std::span<const double> x, std::span<const double> y) {
  const double distance = Wasserstein1(x, y);
  if (std::isnan(distance) || distance == 0) return distance;
  const auto [low_x, high_x] = std::minmax_element(x.begin(), x.end());
  const auto [low_y, high_y] = std::minmax_element(y.begin(), y.end());
  return distance / (std::max(*high_x, *high_y) - std::min(*low_x, *low_y));
}

double EnergyDistance(std::span<const double> x, std::span<const double> y) {
  return Usable(x, y) ? std::sqrt(2 * Area(x, y, 2)) : kNan;
}

TestResult EnergyTest(std::span<const double> x, std::span<const double> y,
                      const PermutationOptions& options) {
  TestResult result;
  if (!Usable(x, y) || x.size() + y.size() > kMaxEnergyValues) {
    result.method = Usable(x, y)             ? "more than 5000 values"
                    : x.empty() || y.empty() ? "a sample is empty"
                                             : "a value is not finite";
    return result;
  }
  std::vector<double> pooled(x.begin(), x.end());
  pooled.insert(pooled.end(), y.begin(), y.end());
  // In the order of the values, one pass gives the area for any split.
  std::vector<size_t> order(pooled.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return pooled[a] < pooled[b]; });
  const double m = static_cast<double>(x.size());
  const double n = static_cast<double>(y.size());
  return SplitPermutationTest(
      pooled.size(), x.size(),
      [&](const std::vector<bool>& in_first) {
        double gap = 0;
        double area = 0;
        for (size_t i = 0; i + 1 < order.size(); ++i) {
          gap += in_first[order[i]] ? 1 / m : -1 / n;
          area += gap * gap * (pooled[order[i + 1]] - pooled[order[i]]);
        }
        return std::sqrt(2 * area);
      },
      options, 4 * static_cast<double>(x.size() + y.size()),
      "energy distance sqrt(2 integral (F - G)^2); permutation");
}

}  // namespace stepslack::stats

#include "stepslack/stats/cramer_von_mises.h"

#include <algorithm>
#include <boost/math/special_functions/bessel.hpp>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <vector>

#include "midranks.h"
#include "sample.h"

namespace stepslack::stats {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kPi = 3.14159265358979323846;
constexpr size_t kMaxExactProduct = 2500;
constexpr size_t kMaxSums = 5'000'000;  // about a second

// Share of lattice paths from (0, 0) to (m, n) whose sum of (a i - b j)^2 over their
// points is at least `bound`, with a = lcm / m and b = lcm / n. A map holds each sum
// and the share of the paths to a point that have it. Nothing when there are too many.
std::optional<double> PathShare(int64_t m, int64_t n, double bound) {
  using Sums = std::map<int64_t, double>;
  const int64_t lcm = std::lcm(m, n);
  const int64_t a = lcm / m;
  const int64_t b = lcm / n;
  size_t work = 0;
  std::vector<Sums> row(static_cast<size_t>(n) + 1);
  for (int64_t i = 0; i <= m; ++i) {
    for (int64_t j = 0; j <= n; ++j) {
      const auto at = static_cast<size_t>(j);
      if (i == 0 && j == 0) {
        row[0] = {{0, 1.0}};
        continue;
      }
      const int64_t add = (a * i - b * j) * (a * i - b * j);
      const double all = static_cast<double>(i + j);
      Sums next;
      if (i > 0) {
        for (const auto& [sum, share] : row[at]) {
          next[sum + add] += share * static_cast<double>(i) / all;
        }
      }
      if (j > 0) {
        for (const auto& [sum, share] : row[at - 1]) {
          next[sum + add] += share * static_cast<double>(j) / all;
        }
      }
      work += next.size();
      if (work > kMaxSums) return std::nullopt;
      row[at] = std::move(next);
    }
  }
  double share = 0;
  for (const auto& [sum, part] : row.back()) {
    if (static_cast<double>(sum) >= bound) share += part;
  }
  return std::min(1.0, share);
}

double Standardised(double t, double m, double n) {
  const double all = m + n;
  const double mean = (1 + 1 / all) / 6;
  const double variance = (all + 1) *
                          (4 * m * n * all - 3 * (m * m + n * n) - 2 * m * n) /
                          (45 * all * all * 4 * m * n);
  return 1.0 / 6 + (t - mean) / std::sqrt(45 * variance);
}

}  // namespace

double CramerVonMisesStatistic(std::span<const double> x, std::span<const double> y) {
  if (x.empty() || y.empty() || !AllFinite(x) || !AllFinite(y)) return kNan;
  std::vector<double> pooled = Sorted(x);
  const std::vector<double> b = Sorted(y);
  pooled.insert(pooled.end(), b.begin(), b.end());
  const std::vector<double> ranks = Midranks(pooled);
  const double m = static_cast<double>(x.size());
  const double n = static_cast<double>(y.size());
  const auto deviations = [&](size_t first, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; ++i) {
      const double d = ranks[first + i] - static_cast<double>(i + 1);
      sum += d * d;
    }
    return sum;
  };
  const double u = m * deviations(0, x.size()) + n * deviations(x.size(), y.size());
  return u / (m * n * (m + n)) - (4 * m * n - 1) / (6 * (m + n));
}

double CramerVonMisesLimitP(double t) {
  if (std::isnan(t)) return kNan;
  if (t <= 0) return 1;
  double sum = 0;
  for (int k = 0; k < 20; ++k) {
    const double y = 4.0 * k + 1;
    const double q = y * y / (16 * t);
    if (q > 600) break;
    const double weight =
        std::exp(std::lgamma(k + 0.5) - std::lgamma(k + 1.0)) / std::pow(kPi, 1.5);
    sum +=
        weight * std::sqrt(y / t) * std::exp(-q) * boost::math::cyl_bessel_k(0.25, q);
  }
  return std::clamp(1 - sum, 0.0, 1.0);
}

TestResult CramerVonMisesTest(std::span<const double> x, std::span<const double> y) {
  TestResult result;
  const double t = CramerVonMisesStatistic(x, y);
  if (std::isnan(t)) {
    result.method =
        x.empty() || y.empty() ? "a sample is empty" : "a value is not finite";
    return result;
  }
  result.statistic = t;
  std::vector<double> pooled(x.begin(), x.end());
  pooled.insert(pooled.end(), y.begin(), y.end());
  std::sort(pooled.begin(), pooled.end());
  const bool ties = std::adjacent_find(pooled.begin(), pooled.end()) != pooled.end();
  const double m = static_cast<double>(x.size());
  const double n = static_cast<double>(y.size());
  if (!ties && x.size() * y.size() <= kMaxExactProduct) {
    const auto whole_m = static_cast<int64_t>(x.size());
    const auto whole_n = static_cast<int64_t>(y.size());
    const double lcm = static_cast<double>(std::lcm(whole_m, whole_n));
    // T = m n / (m + n)^2 * sum / lcm^2, and sums are integers.
    const double sum = t * (m + n) * (m + n) * lcm * lcm / (m * n);
    result.p = PathShare(whole_m, whole_n, sum - 0.5);
  }
  result.exact = result.p.has_value();
  result.method = "Cramer-von Mises T, exact";
  if (!result.exact) {
    result.p = CramerVonMisesLimitP(Standardised(t, m, n));
    result.method = "Cramer-von Mises T, limit with matched mean and variance";
  }
  return result;
}

}  // namespace stepslack::stats

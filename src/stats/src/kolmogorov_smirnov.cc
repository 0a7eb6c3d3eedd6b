#include "stepslack/stats/kolmogorov_smirnov.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "sample.h"

namespace stepslack::stats {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kMaxProduct = 25e6;
constexpr int64_t kMaxMatrixN = 140;
constexpr int64_t kMaxSmallTailN = 500;

// Probability that a random path from (0, 0) to (m, n) keeps |i/m - j/n| below d at all
// points where `seen(i + j)` holds. The weights turn counts into probabilities as they
// grow, so nothing overflows (R's psmirnov).
double StaysInside(double d, int64_t m, int64_t n,
                   const std::function<bool(int64_t)>& seen) {
  const double md = static_cast<double>(m);
  const double nd = static_cast<double>(n);
  // Distances are multiples of 1 / (m n): half a step below d keeps rounding out.
  const double bound = (0.5 + std::floor(d * md * nd - 1e-7)) / (md * nd);
  const auto outside = [&](int64_t i, int64_t j) {
    return std::fabs(static_cast<double>(i) / md - static_cast<double>(j) / nd) >
               bound &&
           seen(i + j);
  };
  std::vector<double> row(static_cast<size_t>(n) + 1, 0.0);
  row[0] = 1;
  for (int64_t j = 1; j <= n; ++j) {
    const auto at = static_cast<size_t>(j);
    row[at] = outside(0, j) ? 0 : row[at - 1];
  }
  for (int64_t i = 1; i <= m; ++i) {
    // Every point's count is kept as a share of the C(i + j, i) paths to it.
    for (int64_t j = 0; j <= n; ++j) {
      const auto at = static_cast<size_t>(j);
      const double all = static_cast<double>(i + j);
      const double from_left = row[at] * static_cast<double>(i) / all;
      const double from_below =
          j > 0 ? row[at - 1] * static_cast<double>(j) / all : 0.0;
      row[at] = outside(i, j) ? 0 : from_left + from_below;
    }
  }
  return row.back();
}

using Matrix = std::vector<double>;

Matrix Multiply(const Matrix& a, const Matrix& b, size_t m) {
  Matrix c(m * m, 0.0);
  for (size_t i = 0; i < m; ++i) {
    for (size_t k = 0; k < m; ++k) {
      for (size_t j = 0; j < m; ++j) c[i * m + j] += a[i * m + k] * b[k * m + j];
    }
  }
  return c;
}

// The matrix H of Marsaglia, Tsang and Wang 2003, section 2.
Matrix BandMatrix(double h, size_t m) {
  Matrix matrix(m * m, 0.0);
  for (size_t i = 0; i < m; ++i) {
    for (size_t j = 0; j < m && j <= i + 1; ++j) matrix[i * m + j] = 1;
  }
  const double size = static_cast<double>(m);
  for (size_t i = 0; i < m; ++i) {
    matrix[i * m] -= std::pow(h, static_cast<double>(i + 1));
    matrix[(m - 1) * m + i] -= std::pow(h, static_cast<double>(m - i));
  }
  if (2 * h > 1) matrix[(m - 1) * m] += std::pow(2 * h - 1, size);
  for (size_t i = 0; i < m; ++i) {
    for (size_t j = 0; j <= i; ++j) {
      for (size_t g = 1; g <= i - j + 1; ++g) {
        matrix[i * m + j] /= static_cast<double>(g);
      }
    }
  }
  return matrix;
}

std::vector<bool> GroupEnds(std::span<const double> x, std::span<const double> y) {
  std::vector<double> pooled(x.begin(), x.end());
  pooled.insert(pooled.end(), y.begin(), y.end());
  std::sort(pooled.begin(), pooled.end());
  std::vector<bool> ends(pooled.size() + 1, true);
  for (size_t i = 1; i < pooled.size(); ++i) ends[i] = pooled[i - 1] != pooled[i];
  return ends;
}

}  // namespace

double KsDistance(std::span<const double> x, std::span<const double> y) {
  if (x.empty() || y.empty() || !AllFinite(x) || !AllFinite(y)) return kNan;
  const std::vector<double> a = Sorted(x);
  const std::vector<double> b = Sorted(y);
  double distance = 0;
  size_t i = 0;
  size_t j = 0;
  while (i < a.size() && j < b.size()) {
    const double t = std::min(a[i], b[j]);
    while (i < a.size() && a[i] == t) ++i;
    while (j < b.size() && b[j] == t) ++j;
    const double f = static_cast<double>(i) / static_cast<double>(a.size());
    const double g = static_cast<double>(j) / static_cast<double>(b.size());
    distance = std::max(distance, std::fabs(f - g));
  }
  return distance;
}

double KsExactP(double d, int64_t m, int64_t n) {
  if (!(d >= 0 && d <= 1) || m < 1 || n < 1) return kNan;
  if (static_cast<double>(m) * static_cast<double>(n) > kMaxProduct) return kNan;
  return 1 - StaysInside(d, m, n, [](int64_t) { return true; });
}

double KolmogorovUpperTail(double lambda) {
  if (std::isnan(lambda)) return kNan;
  if (lambda <= 0.2) return 1;  // 1 - 5e-13 at 0.2
  if (lambda < 1) {
    // The alternating series converges slowly here; its theta-function twin does not.
    constexpr double kPi = 3.14159265358979323846;
    double sum = 0;
    for (int k = 1; k <= 9; k += 2) {
      sum += std::exp(-k * k * kPi * kPi / (8 * lambda * lambda));
    }
    return 1 - std::sqrt(2 * kPi) / lambda * sum;
  }
  double sum = 0;
  for (int k = 1; k <= 20; ++k) {
    const double term = std::exp(-2.0 * k * k * lambda * lambda);
    sum += k % 2 == 1 ? term : -term;
  }
  return std::min(1.0, 2 * sum);
}

double KsLimitP(double d, double m, double n) {
  if (!(m > 0 && n > 0)) return kNan;
  return KolmogorovUpperTail(d * std::sqrt(m * n / (m + n)));
}

double KsOneSampleP(double d, int64_t n) {
  if (std::isnan(d) || n < 1) return kNan;
  if (d <= 0) return 1;
  if (d >= 1) return 0;
  const double count = static_cast<double>(n);
  const double s = count * d * d;
  if (n > kMaxMatrixN && s > 3.76) {
    // Their tail formula: seven digits, where the matrix would be large.
    return 2 * std::exp(-(2.000071 + 0.331 / std::sqrt(count) + 1.409 / count) * s);
  }
  if (n > kMaxSmallTailN) return KolmogorovUpperTail(std::sqrt(s));
  const auto k = static_cast<size_t>(count * d) + 1;
  const size_t m = 2 * k - 1;
  Matrix base = BandMatrix(static_cast<double>(k) - count * d, m);
  Matrix power(m * m, 0.0);
  for (size_t i = 0; i < m; ++i) power[i * m + i] = 1;
  // Powers are scaled so that they stay within double; `scale` counts factors 1e140.
  int power_scale = 0;
  int base_scale = 0;
  const auto rescale = [](Matrix& matrix, int& scale, double middle) {
    if (middle <= 1e140) return;
    for (double& v : matrix) v *= 1e-140;
    ++scale;
  };
  const size_t middle = (k - 1) * m + (k - 1);
  for (int64_t bits = n; bits > 0; bits >>= 1) {
    if ((bits & 1) != 0) {
      power = Multiply(power, base, m);
      power_scale += base_scale;
      rescale(power, power_scale, power[middle]);
    }
    base = Multiply(base, base, m);
    base_scale *= 2;
    rescale(base, base_scale, base[middle]);
  }
  double probability = power[middle];
  for (int64_t i = 1; i <= n; ++i) {
    probability *= static_cast<double>(i) / count;
    if (probability < 1e-140 && power_scale > 0) {
      probability *= 1e140;
      --power_scale;
    }
  }
  return std::clamp(1 - probability * std::pow(1e140, power_scale), 0.0, 1.0);
}

double KsDistanceToUniform(std::span<const double> values) {
  if (values.empty() || !AllFinite(values)) return kNan;
  const std::vector<double> sorted = Sorted(values);
  const double n = static_cast<double>(sorted.size());
  double distance = 0;
  for (size_t i = 0; i < sorted.size(); ++i) {
    const double u = std::clamp(sorted[i], 0.0, 1.0);
    const double above = static_cast<double>(i + 1) / n - u;
    const double below = u - static_cast<double>(i) / n;
    distance = std::max({distance, above, below});
  }
  return distance;
}

TestResult KsTest(std::span<const double> x, std::span<const double> y,
                  const KsOptions& options) {
  TestResult result;
  const double d = KsDistance(x, y);
  if (std::isnan(d)) {
    result.method =
        x.empty() || y.empty() ? "a sample is empty" : "a value is not finite";
    return result;
  }
  result.statistic = d;
  const auto m = static_cast<int64_t>(x.size());
  const auto n = static_cast<int64_t>(y.size());
  const double product = static_cast<double>(m) * static_cast<double>(n);
  result.exact = product <= static_cast<double>(options.max_exact_product) &&
                 product <= kMaxProduct;
  if (!result.exact) {
    result.p = KsLimitP(d, static_cast<double>(m), static_cast<double>(n));
    result.method = "Kolmogorov-Smirnov D = max |F - G|, Kolmogorov limit";
    return result;
  }
  const std::vector<bool> ends = GroupEnds(x, y);
  const bool ties = std::find(ends.begin(), ends.end(), false) != ends.end();
  const double inside = StaysInside(
      d, m, n, [&](int64_t seen) { return ends[static_cast<size_t>(seen)]; });
  result.p = std::clamp(1 - inside, 0.0, 1.0);
  result.method = ties ? "Kolmogorov-Smirnov D = max |F - G|, exact given the ties"
                       : "Kolmogorov-Smirnov D = max |F - G|, exact";
  return result;
}

}  // namespace stepslack::stats

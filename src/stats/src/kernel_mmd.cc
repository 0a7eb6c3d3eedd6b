#include "stepslack/stats/kernel_mmd.h"

#include <algorithm>
#include <cmath>

#include "sample.h"
#include "split_permutation.h"

namespace stepslack::stats {
namespace {

constexpr size_t kMaxRows = 2000;

bool Usable(const Rows& rows) {
  return rows.width > 0 && rows.values.size() % rows.width == 0 && rows.size() >= 2 &&
         AllFinite(rows.values);
}

std::span<const double> RowAt(const Rows& x, const Rows& y, size_t i) {
  const Rows& side = i < x.size() ? x : y;
  const size_t at = i < x.size() ? i : i - x.size();
  return side.values.subspan(at * side.width, side.width);
}

// n * n squared distances, symmetric.
std::vector<double> SquaredDistances(const Rows& x, const Rows& y) {
  const size_t n = x.size() + y.size();
  std::vector<double> distances(n * n, 0.0);
  for (size_t i = 0; i < n; ++i) {
    const auto a = RowAt(x, y, i);
    for (size_t j = i + 1; j < n; ++j) {
      const auto b = RowAt(x, y, j);
      double sum = 0;
      for (size_t c = 0; c < a.size(); ++c) sum += (a[c] - b[c]) * (a[c] - b[c]);
      distances[i * n + j] = distances[j * n + i] = sum;
    }
  }
  return distances;
}

double MedianOfPairs(std::span<const double> square, size_t n) {
  std::vector<double> pairs;
  pairs.reserve(n * (n - 1) / 2);
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = i + 1; j < n; ++j) pairs.push_back(square[i * n + j]);
  }
  std::sort(pairs.begin(), pairs.end());
  return MedianOfSorted(pairs);
}

double UnbiasedMmd2(std::span<const double> kernel, const std::vector<bool>& in_first) {
  const size_t n = in_first.size();
  double count = 0;
  double within_first = 0;
  double within_second = 0;
  double between = 0;
  for (size_t i = 0; i < n; ++i) {
    count += in_first[i] ? 1 : 0;
    for (size_t j = i + 1; j < n; ++j) {
      const double k = kernel[i * n + j];
      if (in_first[i] != in_first[j]) {
        between += k;
      } else {
        (in_first[i] ? within_first : within_second) += k;
      }
    }
  }
  const double other = static_cast<double>(n) - count;
  return 2 * within_first / (count * (count - 1)) +
         2 * within_second / (other * (other - 1)) - 2 * between / (count * other);
}

}  // namespace

MmdResult MmdTest(const Rows& x, const Rows& y, const PermutationOptions& options) {
  MmdResult result;
  if (!Usable(x) || !Usable(y) || x.width != y.width) {
    result.test.method = "needs two finite rows a side, all of one width";
    return result;
  }
  const size_t n = x.size() + y.size();
  if (n > kMaxRows) {
    result.test.method = "more than 2000 rows";
    return result;
  }
  std::vector<double> kernel = SquaredDistances(x, y);
  const double h = MedianOfPairs(kernel, n);
  result.median_squared_distance = h;
  if (!(h > 0) || !std::isfinite(h)) {
    result.test.method = "the median distance is zero";
    return result;
  }
  for (double& value : kernel) value = std::exp(-value / h);
  result.test = SplitPermutationTest(
      n, x.size(),
      [&](const std::vector<bool>& in_first) { return UnbiasedMmd2(kernel, in_first); },
      options, static_cast<double>(n * n) / 2,
      "unbiased MMD^2, Gaussian kernel at the median distance; permutation");
  result.mmd2 = result.test.statistic;
  return result;
}

}  // namespace stepslack::stats

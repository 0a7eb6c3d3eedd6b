#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "sample.h"
#include "split_permutation.h"
#include "stepslack/base/random.h"
#include "stepslack/stats/exact_tests.h"

namespace stepslack::stats {
namespace {

// Arrangements at or beyond the observed statistic on either side.
struct TailCounts {
  int64_t low = 0;
  int64_t high = 0;
  int64_t total = 0;

  void Add(double value, double observed, double tolerance) {
    ++total;
    if (value <= observed + tolerance) ++low;
    if (value >= observed - tolerance) ++high;
  }
};

double Tolerance(std::span<const double> values) {
  double sum = 0;
  for (double v : values) sum += std::fabs(v);
  return 1e-12 * sum;
}

// Sums of all subsets of size k, in lexicographic order of their indices.
TailCounts EnumerateSplits(std::span<const double> pooled, size_t k, double observed,
                           double tolerance) {
  TailCounts counts;
  const size_t n = pooled.size();
  std::vector<size_t> chosen(k);
  std::iota(chosen.begin(), chosen.end(), size_t{0});
  while (true) {
    double sum = 0;
    for (size_t index : chosen) sum += pooled[index];
    counts.Add(sum, observed, tolerance);
    size_t position = k;
    while (position > 0 && chosen[position - 1] == n - k + position - 1) --position;
    if (position == 0) return counts;
    ++chosen[position - 1];
    for (size_t i = position; i < k; ++i) chosen[i] = chosen[i - 1] + 1;
  }
}

TailCounts DrawSplits(std::span<const double> pooled, size_t k, double observed,
                      double tolerance, const PermutationOptions& options) {
  TailCounts counts;
  base::Random random(base::DeriveSeed(options.seed, "permutation test"));
  std::vector<double> values(pooled.begin(), pooled.end());
  for (int64_t draw = 0; draw < options.resamples; ++draw) {
    double sum = 0;
    for (size_t i = 0; i < k; ++i) {
      std::swap(values[i], values[i + random.Below(values.size() - i)]);
      sum += values[i];
    }
    counts.Add(sum, observed, tolerance);
  }
  return counts;
}

// Fills p, its error and the method from `extreme` of `total`, doubled when `sides`
// is 2.
void SetP(TestResult& result, int64_t extreme, int64_t total, double sides,
          std::string_view what, uint64_t seed) {
  result.arrangements = total;
  if (result.exact) {
    const double share = static_cast<double>(extreme) / static_cast<double>(total);
    result.p = std::min(1.0, sides * share);
    result.method = fmt::format("{}, all {} arrangements", what, total);
    return;
  }
  const double share = MonteCarloP(extreme, total);
  result.p = std::min(1.0, sides * share);
  result.p_error = sides * std::sqrt(share * (1 - share) / static_cast<double>(total));
  result.method = fmt::format("{}, {} random arrangements, seed {}", what, total, seed);
}

}  // namespace

double MonteCarloP(int64_t exceed, int64_t resamples) {
  return static_cast<double>(exceed + 1) / static_cast<double>(resamples + 1);
}

TestResult PermutationTest(std::span<const double> x, std::span<const double> y,
                           const PermutationOptions& options) {
  TestResult result;
  if (x.empty() || y.empty() || !AllFinite(x) || !AllFinite(y) ||
      options.resamples < 1) {
    result.method = x.empty() || y.empty()  ? "a sample is empty"
                    : options.resamples < 1 ? "no resamples"
                                            : "a value is not finite";
    return result;
  }
  std::vector<double> pooled(x.begin(), x.end());
  pooled.insert(pooled.end(), y.begin(), y.end());
  // The sum over x decides: with a fixed total the mean difference grows with it.
  double observed = 0;
  for (double v : x) observed += v;
  result.statistic = Mean(x) - Mean(y);
  const auto n = static_cast<int64_t>(pooled.size());
  const auto k = static_cast<int64_t>(x.size());
  result.exact = ChooseUpTo(n, k, options.max_enumerated) <= options.max_enumerated;
  const double tolerance = Tolerance(pooled);
  const TailCounts counts =
      result.exact ? EnumerateSplits(pooled, x.size(), observed, tolerance)
                   : DrawSplits(pooled, x.size(), observed, tolerance, options);
  SetP(result, std::min(counts.low, counts.high), counts.total, 2,
       "permutation test of the mean difference", options.seed);
  return result;
}

TestResult SignFlipTest(std::span<const double> differences,
                        const PermutationOptions& options) {
  TestResult result;
  if (differences.empty() || !AllFinite(differences) || options.resamples < 1) {
    result.method = differences.empty()     ? "no differences"
                    : options.resamples < 1 ? "no resamples"
                                            : "a difference is not finite";
    return result;
  }
  const size_t n = differences.size();
  result.statistic = Mean(differences);
  double observed = 0;
  for (double d : differences) observed += d;
  const double bound = std::fabs(observed) - Tolerance(differences);
  result.exact = n < 62 && (int64_t{1} << n) <= options.max_enumerated;
  const int64_t total = result.exact ? int64_t{1} << n : options.resamples;
  base::Random random(base::DeriveSeed(options.seed, "sign flip test"));
  int64_t extreme = 0;
  for (int64_t pattern = 0; pattern < total; ++pattern) {
    uint64_t bits = static_cast<uint64_t>(pattern);
    double sum = 0;
    for (size_t i = 0; i < n; ++i) {
      if (!result.exact && i % 64 == 0) bits = random.Next();
      sum += (bits & 1) != 0 ? -differences[i] : differences[i];
      bits >>= 1;
    }
    if (std::fabs(sum) >= bound) ++extreme;
  }
  SetP(result, extreme, total, 1, "sign-flip test of the mean difference",
       options.seed);
  return result;
}

}  // namespace stepslack::stats

#include "split_permutation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "stepslack/base/random.h"

namespace stepslack::stats {
namespace {

constexpr double kMaxWork = 5e8;  // some seconds

}  // namespace

int64_t ChooseUpTo(int64_t n, int64_t k, int64_t limit) {
  double value = 1;
  for (int64_t i = 1; i <= std::min(k, n - k); ++i) {
    value = value * static_cast<double>(n - i + 1) / static_cast<double>(i);
    if (value > static_cast<double>(limit) + 0.5) return limit + 1;
  }
  return static_cast<int64_t>(std::llround(value));
}

TestResult SplitPermutationTest(size_t n, size_t k, const SplitStatistic& statistic,
                                const PermutationOptions& options, double work,
                                std::string_view what) {
  TestResult result;
  if (options.resamples < 1) {
    result.method = "no resamples";
    return result;
  }
  std::vector<bool> in_first(n, false);
  std::fill_n(in_first.begin(), k, true);
  const double observed = statistic(in_first);
  result.statistic = observed;
  const double bound = observed - 1e-12 * (1 + std::fabs(observed));
  const double affordable = std::max(99.0, kMaxWork / std::max(1.0, work));
  const int64_t most_splits =
      std::min(options.max_enumerated, static_cast<int64_t>(affordable));
  const int64_t resamples =
      std::min(options.resamples, static_cast<int64_t>(affordable));
  const int64_t splits =
      ChooseUpTo(static_cast<int64_t>(n), static_cast<int64_t>(k), most_splits);
  result.exact = splits <= most_splits;
  int64_t extreme = 0;
  if (result.exact) {
    // The observed split is the largest arrangement in lexicographic order.
    do {
      if (statistic(in_first) >= bound) ++extreme;
      ++result.arrangements;
    } while (std::prev_permutation(in_first.begin(), in_first.end()));
    result.p = static_cast<double>(extreme) / static_cast<double>(result.arrangements);
    result.method = fmt::format("{}, all {} splits", what, result.arrangements);
    return result;
  }
  base::Random random(base::DeriveSeed(options.seed, "split permutation test"));
  std::vector<size_t> order(n);
  for (size_t i = 0; i < n; ++i) order[i] = i;
  for (int64_t draw = 0; draw < resamples; ++draw) {
    std::fill(in_first.begin(), in_first.end(), false);
    for (size_t i = 0; i < k; ++i) {
      std::swap(order[i], order[i + random.Below(n - i)]);
      in_first[order[i]] = true;
    }
    if (statistic(in_first) >= bound) ++extreme;
  }
  result.arrangements = resamples;
  const double p = MonteCarloP(extreme, resamples);
  result.p = p;
  result.p_error = std::sqrt(p * (1 - p) / static_cast<double>(resamples));
  result.method =
      fmt::format("{}, {} random splits, seed {}", what, resamples, options.seed);
  return result;
}

}  // namespace stepslack::stats

#include "stepslack/stats/energy_split.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sample.h"
#include "stepslack/base/random.h"
#include "stepslack/stats/exact_tests.h"

namespace stepslack::stats {
namespace {

constexpr size_t kMaxSplitValues = 5000;
constexpr size_t kMaxPointValues = 2000;
constexpr double kMaxWork = 2e9;

double Work(size_t n, int64_t resamples) {
  const double count = static_cast<double>(n);
  return count * count * static_cast<double>(resamples);
}

struct Best {
  size_t index = 0;
  double q = -1;
};

// Q at every split with at least `least` (>= 2) values on either side. Moving one value
// from the second part to the first changes the three sums of distances by its
// distances to both parts, so all splits cost O(n^2) together.
template <typename Visit>
void VisitSplits(std::span<const double> values, size_t least, Visit visit) {
  const size_t n = values.size();
  double within_first = 0;
  double within_second = 0;
  double between = 0;
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = i + 1; j < n; ++j) {
      within_second += std::fabs(values[i] - values[j]);
    }
  }
  for (size_t k = 0; k + least < n; ++k) {
    double to_first = 0;
    double to_second = 0;
    for (size_t i = 0; i < k; ++i) to_first += std::fabs(values[k] - values[i]);
    for (size_t i = k + 1; i < n; ++i) to_second += std::fabs(values[k] - values[i]);
    within_first += to_first;
    within_second -= to_second;
    between += to_second - to_first;
    const double m = static_cast<double>(k + 1);
    const double rest = static_cast<double>(n) - m;
    if (k + 1 < least) continue;
    const double distance = 2 * between / (m * rest) -
                            2 * within_first / (m * (m - 1)) -
                            2 * within_second / (rest * (rest - 1));
    visit(k + 1, m * rest / (m + rest) * distance);
  }
}

// Best split over all segments between neighbouring `edges`.
Best BestSplit(std::span<const double> values, std::span<const size_t> edges,
               size_t least) {
  Best best;
  for (size_t e = 0; e + 1 < edges.size(); ++e) {
    const auto segment = values.subspan(edges[e], edges[e + 1] - edges[e]);
    if (segment.size() < 2 * least) continue;
    VisitSplits(segment, least, [&](size_t k, double q) {
      if (q > best.q) best = {edges[e] + k, q};
    });
  }
  return best;
}

double PermutationP(std::span<const double> values, std::span<const size_t> edges,
                    size_t least, double observed, int64_t resamples,
                    base::Random& random) {
  std::vector<double> shuffled(values.begin(), values.end());
  int64_t exceed = 0;
  for (int64_t r = 0; r < resamples; ++r) {
    for (size_t e = 0; e + 1 < edges.size(); ++e) {
      random.Shuffle(std::span(shuffled).subspan(edges[e], edges[e + 1] - edges[e]));
    }
    if (BestSplit(shuffled, edges, least).q >= observed) ++exceed;
  }
  return MonteCarloP(exceed, resamples);
}

}  // namespace

std::optional<EnergySplit> FindEnergySplit(std::span<const double> values) {
  if (values.size() < 4 || values.size() > kMaxSplitValues || !AllFinite(values)) {
    return std::nullopt;
  }
  EnergySplit split;
  VisitSplits(values, 2, [&](size_t k, double q) {
    if (split.q_by_index.empty() || q > split.q) {
      split.index = k;
      split.q = q;
    }
    split.q_by_index.push_back(q);
  });
  return split;
}

size_t CusumSplit(std::span<const double> values) {
  if (values.size() < 2 || !AllFinite(values)) return 0;
  const double mean = Mean(values);
  double sum = 0;
  double largest = -1;
  size_t index = 0;
  for (size_t k = 1; k < values.size(); ++k) {
    sum += values[k - 1] - mean;
    if (std::fabs(sum) > largest) {
      largest = std::fabs(sum);
      index = k;
    }
  }
  return index;
}

EnergyChangePoints FindEnergyChangePoints(std::span<const double> values,
                                          const EnergyChangeOptions& options) {
  EnergyChangePoints result;
  if (values.size() > kMaxPointValues || !AllFinite(values) ||
      options.min_segment < 2 || options.resamples < 19 || options.resamples > 9999 ||
      Work(values.size(), options.resamples) > kMaxWork) {
    result.method =
        "needs at most 2000 finite values, segments of two, 19 to 9999 resamples, "
        "and at most 2e9 distances a split";
    return result;
  }
  result.method = fmt::format("E-divisive, alpha 1, {} shuffles, seed {}",
                              options.resamples, options.seed);
  base::Random random(base::DeriveSeed(options.seed, "energy change points"));
  std::vector<size_t> edges = {0, values.size()};
  while (result.points.size() < options.max_points) {
    const Best best = BestSplit(values, edges, options.min_segment);
    if (best.index == 0) break;
    const double p = PermutationP(values, edges, options.min_segment, best.q,
                                  options.resamples, random);
    if (p > options.alpha) break;
    result.points.push_back({best.index, best.q, p});
    edges.insert(std::lower_bound(edges.begin(), edges.end(), best.index), best.index);
  }
  std::sort(result.points.begin(), result.points.end(),
            [](const auto& a, const auto& b) { return a.index < b.index; });
  return result;
}

}  // namespace stepslack::stats

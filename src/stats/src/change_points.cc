#include "stepslack/stats/change_points.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>
#include <queue>

#include "midranks.h"
#include "stepslack/base/random.h"
#include "stepslack/stats/exact_tests.h"

namespace stepslack::stats {
namespace {

constexpr size_t kMaxValues = 20'000;

double Median(std::span<const double> values) {
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const size_t n = sorted.size();
  return (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
}

struct Split {
  size_t index = 0;
  double statistic = 0;
  double p = 1;
};

Split BestSplit(std::span<const double> ranks, size_t min_segment) {
  Split best;
  const double n = static_cast<double>(ranks.size());
  double excess = 0;
  for (size_t k = 1; k + min_segment <= ranks.size(); ++k) {
    excess += ranks[k - 1] - (n + 1) / 2;
    if (k < min_segment) continue;
    const double left = static_cast<double>(k);
    const double statistic = std::fabs(excess) / std::sqrt(left * (n - left));
    if (statistic > best.statistic) best = {k, statistic, 1};
  }
  return best;
}

// costs[k]: sum of distances of the first k values to their median. Two heaps keep the
// lower and the upper half.
template <typename Iterator>
std::vector<double> CostsOfFirst(Iterator value, size_t n) {
  std::priority_queue<double> low;
  std::priority_queue<double, std::vector<double>, std::greater<>> high;
  double low_sum = 0;
  double high_sum = 0;
  std::vector<double> costs = {0};
  for (size_t i = 0; i < n; ++i, ++value) {
    const bool goes_low = low.empty() || *value <= low.top();
    (goes_low ? low_sum : high_sum) += *value;
    goes_low ? low.push(*value) : high.push(*value);
    if (low.size() > high.size() + 1) {
      high_sum += low.top();
      low_sum -= low.top();
      high.push(low.top());
      low.pop();
    } else if (high.size() > low.size()) {
      low_sum += high.top();
      high_sum -= high.top();
      low.push(high.top());
      high.pop();
    }
    const double median = low.top();
    costs.push_back(
        high_sum - low_sum +
        median * (static_cast<double>(low.size()) - static_cast<double>(high.size())));
  }
  return costs;
}

// Two medians describe the values best when the segment is cut here.
size_t BestCut(std::span<const double> values, size_t min_segment) {
  const size_t n = values.size();
  const std::vector<double> before = CostsOfFirst(values.begin(), n);
  const std::vector<double> after = CostsOfFirst(values.rbegin(), n);
  size_t best = min_segment;
  for (size_t k = min_segment; k + min_segment <= n; ++k) {
    if (before[k] + after[n - k] < before[best] + after[n - best]) best = k;
  }
  return best;
}

// The best split of a segment with its p, if it is significant. Stops drawing as soon
// as it can not be any more.
std::optional<Split> TestSegment(std::span<const double> values,
                                 const ChangePointOptions& options, uint64_t seed) {
  std::vector<double> ranks = Midranks(values);
  Split split = BestSplit(ranks, options.min_segment);
  if (split.index == 0) return std::nullopt;
  base::Random random(seed);
  int64_t exceed = 0;
  for (int64_t i = 0; i < options.resamples; ++i) {
    random.Shuffle(std::span(ranks));
    const double drawn = BestSplit(ranks, options.min_segment).statistic;
    exceed += drawn >= split.statistic * (1 - 1e-12) ? 1 : 0;
    if (MonteCarloP(exceed, options.resamples) > options.alpha) return std::nullopt;
  }
  split.p = MonteCarloP(exceed, options.resamples);
  return split;
}

struct Segment {
  size_t first = 0;
  size_t end = 0;
};

// Puts each point at its best cut between its neighbours. While a segment still had
// further changes in it, its cut was only roughly right.
void Settle(std::span<const double> values, size_t min_segment,
            std::vector<ChangePoint>& points) {
  for (int pass = 0; pass < 2; ++pass) {
    for (size_t i = 0; i < points.size(); ++i) {
      const size_t from = i == 0 ? 0 : points[i - 1].index;
      const size_t to = i + 1 < points.size() ? points[i + 1].index : values.size();
      points[i].index = from + BestCut(values.subspan(from, to - from), min_segment);
    }
  }
}

std::vector<ChangePoint> FindIn(std::span<const double> values,
                                const ChangePointOptions& options) {
  std::vector<ChangePoint> points;
  std::vector<Segment> open = {{0, values.size()}};
  while (!open.empty() && points.size() < options.max_points) {
    const Segment segment = open.back();
    open.pop_back();
    const size_t size = segment.end - segment.first;
    if (size < 2 * options.min_segment) continue;
    const auto split =
        TestSegment(values.subspan(segment.first, size), options,
                    base::DeriveSeed(options.seed, "change point", segment.first));
    if (!split) continue;
    const size_t at = segment.first + split->index;
    points.push_back({at, 0, 0, split->p});
    open.push_back({at, segment.end});
    open.push_back({segment.first, at});
  }
  std::sort(points.begin(), points.end(),
            [](const auto& a, const auto& b) { return a.index < b.index; });
  Settle(values, options.min_segment, points);
  for (size_t i = 0; i < points.size(); ++i) {
    const size_t from = i == 0 ? 0 : points[i - 1].index;
    const size_t to = i + 1 < points.size() ? points[i + 1].index : values.size();
    points[i].before = Median(values.subspan(from, points[i].index - from));
    points[i].after = Median(values.subspan(points[i].index, to - points[i].index));
  }
  return points;
}

}  // namespace

std::vector<ChangePoint> FindChangePoints(std::span<const double> values,
                                          const ChangePointOptions& options) {
  for (const double value : values) {
    if (!std::isfinite(value)) return {};
  }
  ChangePointOptions used = options;
  used.min_segment = std::max<size_t>(used.min_segment, 2);
  used.resamples = std::max<int64_t>(used.resamples, 1);
  const size_t block = (values.size() + kMaxValues - 1) / kMaxValues;
  std::vector<double> reduced;
  if (block > 1) {
    for (size_t i = 0; i < values.size(); i += block) {
      reduced.push_back(Median(values.subspan(i, std::min(block, values.size() - i))));
    }
    values = reduced;
  }
  std::vector<ChangePoint> points = FindIn(values, used);
  std::erase_if(points, [&](const ChangePoint& point) {
    return std::fabs(point.after - point.before) <
           used.min_relative_change * std::fabs(point.before);
  });
  if (block > 1) {
    for (ChangePoint& point : points) point.index *= block;
  }
  return points;
}

}  // namespace stepslack::stats

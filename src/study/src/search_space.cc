#include "search_space.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

namespace stepslack::study {
namespace {

using base::Json;
using Scale = SearchDimension::Scale;

constexpr int kCandidates = 24;
constexpr double kGoodShare = 0.2;
constexpr size_t kLeastGood = 2;

double Transformed(const SearchDimension& dimension, double value) {
  return dimension.scale == Scale::kLog ? std::log(value) : value;
}

int64_t PointsOf(const SearchDimension& dimension) {
  return dimension.scale == Scale::kList ? static_cast<int64_t>(dimension.values.size())
                                         : dimension.grid;
}

// Gaussians on [0, 1] around the points, as wide as the gap to the next one, and one
// uniform part; each of equal weight.
struct Parzen {
  std::vector<double> centres;
  std::vector<double> widths;

  explicit Parzen(std::vector<double> points) : centres(std::move(points)) {
    std::ranges::sort(centres);
    const double least =
        1.0 / std::min<double>(100, static_cast<double>(centres.size()) + 1);
    for (size_t i = 0; i < centres.size(); ++i) {
      const double left = i == 0 ? centres[i] : centres[i] - centres[i - 1];
      const double right =
          i + 1 == centres.size() ? 1 - centres[i] : centres[i + 1] - centres[i];
      widths.push_back(std::clamp(std::max(left, right), least, 1.0));
    }
  }

  double Density(double x) const {
    double sum = 1;
    for (size_t i = 0; i < centres.size(); ++i) {
      const double z = (x - centres[i]) / widths[i];
      sum += std::exp(-0.5 * z * z) / (widths[i] * std::sqrt(2 * std::numbers::pi));
    }
    return sum / static_cast<double>(centres.size() + 1);
  }

  double Draw(base::Random& random) const {
    const uint64_t part = random.Below(centres.size() + 1);
    if (part == centres.size()) return random.Uniform();
    const double x = centres[part] + widths[part] * random.Normal();
    return std::clamp(x, 0.0, 1.0);
  }
};

// Shares of the values of a list, as if each had been seen once more in sum.
std::vector<double> Shares(const SearchDimension& dimension,
                           const std::vector<const Settings*>& points) {
  const auto kinds = static_cast<double>(dimension.values.size());
  std::vector<double> shares(dimension.values.size(), 1 / kinds);
  for (const Settings* point : points) {
    const auto position = static_cast<size_t>(
        std::llround(ToUnit(dimension, point->at(dimension.key)) * (kinds - 1)));
    shares[position] += 1;
  }
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (double& share : shares) share /= sum;
  return shares;
}

size_t DrawIndex(const std::vector<double>& shares, base::Random& random) {
  double left = random.Uniform();
  for (size_t i = 0; i + 1 < shares.size(); ++i) {
    left -= shares[i];
    if (left < 0) return i;
  }
  return shares.size() - 1;
}

std::vector<double> Units(const SearchDimension& dimension,
                          const std::vector<const Settings*>& points) {
  std::vector<double> units;
  for (const Settings* point : points) {
    units.push_back(ToUnit(dimension, point->at(dimension.key)));
  }
  return units;
}

// The value of one dimension with the largest ratio of densities among the candidates.
Json BestValue(const SearchDimension& dimension,
               const std::vector<const Settings*>& good,
               const std::vector<const Settings*>& bad, base::Random& random) {
  double best = -std::numeric_limits<double>::infinity();
  Json chosen;
  if (dimension.scale == Scale::kList) {
    const auto likely = Shares(dimension, good), unlikely = Shares(dimension, bad);
    for (int i = 0; i < kCandidates; ++i) {
      const size_t at = DrawIndex(likely, random);
      if (likely[at] / unlikely[at] <= best) continue;
      best = likely[at] / unlikely[at];
      chosen = dimension.values[at];
    }
    return chosen;
  }
  const Parzen likely(Units(dimension, good)), unlikely(Units(dimension, bad));
  for (int i = 0; i < kCandidates; ++i) {
    const double unit = likely.Draw(random);
    const double ratio = likely.Density(unit) / unlikely.Density(unit);
    if (ratio <= best) continue;
    best = ratio;
    chosen = FromUnit(dimension, unit);
  }
  return chosen;
}

}  // namespace

Json FromUnit(const SearchDimension& dimension, double unit) {
  if (dimension.scale == Scale::kList) {
    const auto last = static_cast<double>(dimension.values.size() - 1);
    return dimension.values[static_cast<size_t>(std::llround(unit * last))];
  }
  const double low = Transformed(dimension, dimension.low);
  const double high = Transformed(dimension, dimension.high);
  const double at = low + unit * (high - low);
  const double value = std::clamp(dimension.scale == Scale::kLog ? std::exp(at) : at,
                                  dimension.low, dimension.high);
  if (dimension.whole) return Json(int64_t{std::llround(value)});
  return Json(value);
}

double ToUnit(const SearchDimension& dimension, const Json& value) {
  if (dimension.scale == Scale::kList) {
    if (dimension.values.size() < 2) return 0;
    const auto found = std::ranges::find_if(dimension.values, [&](const Json& item) {
      return item.Dump() == value.Dump();
    });
    return static_cast<double>(found - dimension.values.begin()) /
           static_cast<double>(dimension.values.size() - 1);
  }
  const double low = Transformed(dimension, dimension.low);
  const double high = Transformed(dimension, dimension.high);
  return (Transformed(dimension, value.AsDouble()) - low) / (high - low);
}

int64_t GridSize(const std::vector<SearchDimension>& space) {
  int64_t size = 1;
  for (const SearchDimension& dimension : space) {
    const int64_t points = PointsOf(dimension);
    if (points == 0) return 0;
    if (size > std::numeric_limits<int64_t>::max() / points) {
      return std::numeric_limits<int64_t>::max();
    }
    size *= points;
  }
  return size;
}

Settings GridPoint(const std::vector<SearchDimension>& space, int64_t index) {
  Settings point;
  for (auto dimension = space.rbegin(); dimension != space.rend(); ++dimension) {
    const int64_t points = PointsOf(*dimension);
    const int64_t at = index % points;
    index /= points;
    point[dimension->key] = FromUnit(
        *dimension,
        points < 2 ? 0.0 : static_cast<double>(at) / static_cast<double>(points - 1));
  }
  return point;
}

Settings RandomPoint(const std::vector<SearchDimension>& space, base::Random& random) {
  Settings point;
  for (const SearchDimension& dimension : space) {
    point[dimension.key] = dimension.scale == Scale::kList
                               ? dimension.values[random.Below(dimension.values.size())]
                               : FromUnit(dimension, random.Uniform());
  }
  return point;
}

Settings ParzenPoint(const std::vector<SearchDimension>& space,
                     const std::vector<Settings>& tried,
                     const std::vector<double>& scores, bool maximise,
                     base::Random& random) {
  std::vector<size_t> order;
  for (size_t i = 0; i < scores.size(); ++i) {
    if (!std::isnan(scores[i])) order.push_back(i);
  }
  if (order.size() < kLeastGood + 1) return RandomPoint(space, random);
  std::ranges::stable_sort(order, [&](size_t a, size_t b) {
    return maximise ? scores[a] > scores[b] : scores[a] < scores[b];
  });
  const auto good_count = std::max<size_t>(
      kLeastGood,
      static_cast<size_t>(std::ceil(kGoodShare * static_cast<double>(order.size()))));
  std::vector<const Settings*> good, bad;
  for (size_t i = 0; i < order.size(); ++i) {
    (i < good_count ? good : bad).push_back(&tried[order[i]]);
  }
  // Failures are bad points, not unknown ones.
  for (size_t i = 0; i < scores.size(); ++i) {
    if (std::isnan(scores[i])) bad.push_back(&tried[i]);
  }
  Settings point;
  for (const SearchDimension& dimension : space) {
    point[dimension.key] = BestValue(dimension, good, bad, random);
  }
  return point;
}

}  // namespace stepslack::study

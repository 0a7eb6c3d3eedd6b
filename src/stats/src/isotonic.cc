#include <algorithm>
#include <limits>
#include <numeric>

#include "sample.h"
#include "stepslack/stats/recalibration.h"

namespace stepslack::stats {
namespace {

struct Block {
  double weight = 0;
  double sum = 0;  // weighted
  size_t points = 1;

  double mean() const { return sum / weight; }
};

}  // namespace

std::optional<IsotonicFit> IsotonicFit::Fit(std::span<const double> x,
                                            std::span<const double> y,
                                            std::span<const double> weights) {
  const bool weighted = !weights.empty();
  if (x.empty() || x.size() != y.size() || (weighted && weights.size() != x.size()) ||
      !AllFinite(x) || !AllFinite(y) || !AllFinite(weights) ||
      std::any_of(weights.begin(), weights.end(), [](double w) { return w <= 0; })) {
    return std::nullopt;
  }
  std::vector<size_t> order(x.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return x[a] < x[b]; });
  IsotonicFit fit;
  std::vector<Block> points;
  for (size_t i : order) {
    const double weight = weighted ? weights[i] : 1;
    if (fit.x_.empty() || fit.x_.back() != x[i]) {
      fit.x_.push_back(x[i]);
      points.emplace_back();
    }
    points.back().weight += weight;
    points.back().sum += weight * y[i];
  }
  std::vector<Block> blocks;
  for (const Block& point : points) {
    blocks.push_back(point);
    while (blocks.size() > 1 &&
           blocks[blocks.size() - 2].mean() >= blocks.back().mean()) {
      const Block last = blocks.back();
      blocks.pop_back();
      blocks.back().weight += last.weight;
      blocks.back().sum += last.sum;
      blocks.back().points += last.points;
    }
  }
  for (const Block& block : blocks) {
    fit.fitted_.insert(fit.fitted_.end(), block.points, block.mean());
  }
  return fit;
}

double IsotonicFit::operator()(double x) const {
  if (x != x) return std::numeric_limits<double>::quiet_NaN();
  const auto above = std::upper_bound(x_.begin(), x_.end(), x);
  if (above == x_.begin()) return fitted_.front();
  if (above == x_.end()) return fitted_.back();
  const auto i = static_cast<size_t>(above - x_.begin());
  const double share = (x - x_[i - 1]) / (x_[i] - x_[i - 1]);
  return fitted_[i - 1] + share * (fitted_[i] - fitted_[i - 1]);
}

}  // namespace stepslack::stats

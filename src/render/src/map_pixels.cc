#include "map_pixels.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace stepslack::render {

MapStats StatsOf(const MapImage& image) {
  MapStats stats;
  const auto count = static_cast<int64_t>(image.values.size());
  stats.valid = image.height > 0 && image.width > 0 && count > 0 &&
                count / image.width == image.height && count % image.width == 0;
  if (!stats.valid) return stats;
  double mean = 0;
  double peak = -1;
  for (int64_t i = 0; i < count; ++i) {
    const double value = image.values[static_cast<size_t>(i)];
    if (!std::isfinite(value)) {
      ++stats.missing;
      continue;
    }
    stats.min = stats.finite == 0 ? value : std::min(stats.min, value);
    const double rank = image.diverging ? std::abs(value) : value;
    if (stats.finite == 0 || rank > peak) {
      peak = rank;
      stats.max_row = i / image.width;
      stats.max_column = i % image.width;
    }
    stats.max = stats.finite == 0 ? value : std::max(stats.max, value);
    ++stats.finite;
    mean += (value - mean) / static_cast<double>(stats.finite);
  }
  stats.mean = mean;
  return stats;
}

double ColourScale::Position(double value) const {
  if (!std::isfinite(value)) return std::numeric_limits<double>::quiet_NaN();
  if (!(high > low)) return 0.5;
  return (value - low) / (high - low);
}

ColourScale ScaleOf(const MapImage& image, const MapStats& stats) {
  const auto end = [](const std::optional<double>& given, double own) {
    // Beyond 1e300 a difference of two ends could overflow.
    return given && std::abs(*given) < 1e300 ? *given : own;
  };
  ColourScale scale{end(image.scale_low, stats.min), end(image.scale_high, stats.max)};
  if (image.diverging) {
    scale.high = std::max(std::abs(scale.low), std::abs(scale.high));
    scale.low = -scale.high;
  }
  return scale;
}

PixelGrid Coarsen(const MapImage& image, int64_t max_side) {
  PixelGrid grid;
  const int64_t side = std::max(image.height, image.width);
  grid.block = std::max<int64_t>(1, (side + max_side - 1) / max_side);
  grid.height = (image.height + grid.block - 1) / grid.block;
  grid.width = (image.width + grid.block - 1) / grid.block;
  grid.values.assign(static_cast<size_t>(grid.height * grid.width),
                     std::numeric_limits<float>::quiet_NaN());
  for (int64_t row = 0; row < image.height; ++row) {
    for (int64_t column = 0; column < image.width; ++column) {
      const float value = image.values[static_cast<size_t>(row * image.width + column)];
      float& kept = grid.values[static_cast<size_t>(row / grid.block * grid.width +
                                                    column / grid.block)];
      const bool larger = std::isnan(kept) || std::abs(value) > std::abs(kept);
      if (std::isfinite(value) && larger) kept = value;
    }
  }
  return grid;
}

}  // namespace stepslack::render

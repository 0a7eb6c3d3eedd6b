// What a figure needs to know of a map: its extremes, its colour scale, and a version
// that is small enough to embed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "stepslack/render/report.h"

namespace stepslack::render {

struct MapStats {
  bool valid = false;  // positive sides that match the number of values
  size_t finite = 0;
  size_t missing = 0;                   // NaN or infinite
  double min = 0, mean = 0, max = 0;    // of the finite values
  int64_t max_row = 0, max_column = 0;  // first maximum, or largest magnitude of an
                                        // error map; counted from zero
};

MapStats StatsOf(const MapImage& image);

struct ColourScale {
  double low = 0;
  double high = 0;
  // NaN for a value that is not finite; 0.5 when the scale is a single value.
  double Position(double value) const;
};

// The given ends, else the extremes; symmetric about zero for error maps.
ColourScale ScaleOf(const MapImage& image, const MapStats& stats);

struct PixelGrid {
  int64_t height = 0, width = 0;
  int64_t block = 1;          // each pixel stands for block x block values
  std::vector<float> values;  // the one of largest magnitude in the block; NaN if none
};

PixelGrid Coarsen(const MapImage& image, int64_t max_side);

}  // namespace stepslack::render

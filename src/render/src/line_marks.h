// From the series of a line chart to the marks that are drawn: gaps found, long series
// thinned so that no peak is lost, labels placed where they cover least.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "axis.h"
#include "stepslack/render/report.h"

namespace stepslack::render {

// One point in data coordinates; a gap has no y.
struct Mark {
  double x = 0;
  double y = 0;
  double low = 0;  // equal to y when there is no interval
  double high = 0;
  bool gap = false;
  bool interval = false;
};

struct MarkedSeries {
  std::vector<Mark> marks;
  size_t shown = 0;       // finite points
  size_t not_on_log = 0;  // finite points that a logarithmic axis can not show
};

MarkedSeries MarksOf(const Series& series, bool log_x, bool log_y);

// At most about `most` marks: of each run of neighbours the lowest and the highest
// stay, and a gap if there was one.
std::vector<Mark> Thin(const std::vector<Mark>& marks, size_t most);

struct Box {
  double x0 = 0, y0 = 0, x1 = 0, y1 = 0;
  bool Overlaps(const Box& other) const {
    return x0 < other.x1 && other.x0 < x1 && y0 < other.y1 && other.y0 < y1;
  }
};

struct PixelPoint {
  double x = 0;
  double y = 0;
};

// Points about every 6 px along the drawn lines; what a label should not cover.
void AddTrack(std::vector<PixelPoint>& track, PixelPoint from, PixelPoint to);

// The box, centred over or under one of the anchors and inside `limits`, that covers
// the fewest track points and no box of `taken` if that can be had.
Box PlaceLabel(double width, double height, const std::vector<PixelPoint>& anchors,
               const std::vector<PixelPoint>& track, const std::vector<Box>& taken,
               const Box& limits);

}  // namespace stepslack::render

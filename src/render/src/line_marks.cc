#include "line_marks.h"

#include <algorithm>
#include <cmath>

namespace stepslack::render {

MarkedSeries MarksOf(const Series& series, bool log_x, bool log_y) {
  MarkedSeries out;
  const size_t count = std::min(series.x.size(), series.y.size());
  const bool bounds = series.low.size() >= count && series.high.size() >= count;
  const auto on_axis = [](double value, bool log) { return !log || value >= 1e-300; };
  for (size_t i = 0; i < count; ++i) {
    Mark mark{
        .x = series.x[i], .y = series.y[i], .low = series.y[i], .high = series.y[i]};
    if (!std::isfinite(mark.x) || !std::isfinite(mark.y)) {
      mark.gap = true;
    } else if (!on_axis(mark.x, log_x) || !on_axis(mark.y, log_y)) {
      mark.gap = true;
      ++out.not_on_log;
    } else {
      ++out.shown;
      if (bounds && std::isfinite(series.low[i]) && std::isfinite(series.high[i])) {
        mark.interval = true;
        // A bound that a logarithmic axis can not show ends at the point itself.
        mark.low = on_axis(series.low[i], log_y) ? series.low[i] : mark.y;
        mark.high = series.high[i];
      }
    }
    out.marks.push_back(mark);
  }
  return out;
}

std::vector<Mark> Thin(const std::vector<Mark>& marks, size_t most) {
  if (marks.size() <= most || most < 8) return marks;
  const size_t buckets = most / 4;  // at most first, lowest, highest and a gap of each
  std::vector<Mark> out;
  for (size_t b = 0; b < buckets; ++b) {
    const size_t begin = b * marks.size() / buckets;
    const size_t end = (b + 1) * marks.size() / buckets;
    size_t lowest = end, highest = end, gap = end, last = end;
    for (size_t i = begin; i < end; ++i) {
      if (marks[i].gap) {
        gap = i;
        continue;
      }
      last = i;
      if (lowest == end || marks[i].y < marks[lowest].y) lowest = i;
      if (highest == end || marks[i].y > marks[highest].y) highest = i;
    }
    std::vector<size_t> kept = {lowest, highest, gap};
    if (b + 1 == buckets) kept.push_back(last);  // the series keeps its end
    std::sort(kept.begin(), kept.end());
    kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
    for (const size_t i : kept) {
      if (i < end) out.push_back(marks[i]);
    }
  }
  return out;
}

void AddTrack(std::vector<PixelPoint>& track, PixelPoint from, PixelPoint to) {
  const double length = std::hypot(to.x - from.x, to.y - from.y);
  const int pieces = std::clamp(static_cast<int>(length / 6), 1, 200);
  for (int i = 0; i <= pieces; ++i) {
    const double t = static_cast<double>(i) / pieces;
    track.push_back({from.x + t * (to.x - from.x), from.y + t * (to.y - from.y)});
  }
}

Box PlaceLabel(double width, double height, const std::vector<PixelPoint>& anchors,
               const std::vector<PixelPoint>& track, const std::vector<Box>& taken,
               const Box& limits) {
  Box best;
  double best_cost = -1;
  for (const PixelPoint& anchor : anchors) {
    for (const double offset : {-9.0 - height, 9.0, -24.0 - height, 24.0}) {
      Box box;
      box.x0 = std::clamp(anchor.x - width / 2, limits.x0,
                          std::max(limits.x0, limits.x1 - width));
      box.y0 = std::clamp(anchor.y + offset, limits.y0,
                          std::max(limits.y0, limits.y1 - height));
      box.x1 = box.x0 + width;
      box.y1 = box.y0 + height;
      double cost = 0;
      for (const Box& other : taken) cost += box.Overlaps(other) ? 1000 : 0;
      for (const PixelPoint& point : track) {
        const bool covered = point.x > box.x0 - 2 && point.x < box.x1 + 2 &&
                             point.y > box.y0 - 2 && point.y < box.y1 + 2;
        cost += covered ? 1 : 0;
      }
      if (best_cost < 0 || cost < best_cost) {
        best_cost = cost;
        best = box;
      }
    }
  }
  return best;
}

}  // namespace stepslack::render

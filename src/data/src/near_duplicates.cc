#include "near_duplicates.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "dihedral.h"
#include "map_planes.h"
#include "stepslack/base/parallel.h"

namespace stepslack::data {
namespace {

constexpr size_t kCells = kDescriptorSide * kDescriptorSide;

struct PlaneDescriptor {
  Descriptor values{};
  float norm = 0;     // the same for all transforms
  Descriptor mean{};  // mean over the eight transforms
};

struct MapDescriptor {
  std::vector<PlaneDescriptor> planes;  // continuous channels, then the target
};

// Share of pixel [i, i + 1) that lies in cell k of eight over `size` pixels, by the
// overlap of intervals.
struct CellSpan {
  int64_t first = 0;
  int64_t last = 0;  // one past the end
  double low = 0;
  double high = 0;

  CellSpan(int64_t size, int cell)
      : low(static_cast<double>(size * cell) / kDescriptorSide),
        high(static_cast<double>(size * (cell + 1)) / kDescriptorSide) {
    first = static_cast<int64_t>(std::floor(low));
    last = std::min(size, static_cast<int64_t>(std::ceil(high)));
  }
  double Weight(int64_t pixel) const {
    const auto begin = static_cast<double>(pixel);
    return std::min(high, begin + 1) - std::max(low, begin);
  }
};

double CellMean(const std::vector<float>& plane, int64_t width, const CellSpan& rows,
                const CellSpan& columns) {
  double sum = 0;
  double area = 0;
  for (int64_t r = rows.first; r < rows.last; ++r) {
    double row_sum = 0;
    double row_area = 0;
    const float* row = plane.data() + r * width;
    for (int64_t c = columns.first; c < columns.last; ++c) {
      const double weight = columns.Weight(c);
      row_sum += weight * static_cast<double>(row[c]);
      row_area += weight;
    }
    sum += rows.Weight(r) * row_sum;
    area += rows.Weight(r) * row_area;
  }
  return area > 0 ? sum / area : 0.0;
}

float Norm(const Descriptor& d) {
  double sum = 0;
  for (const float v : d) sum += static_cast<double>(v) * static_cast<double>(v);
  return static_cast<float>(std::sqrt(sum));
}

float Distance(const Descriptor& a, const Descriptor& b) {
  float sum = 0;
  for (size_t i = 0; i < kCells; ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(sum);
}

Descriptor Turn(const Descriptor& d, int transform) {
  const Walk walk = WalkOf(kDescriptorSide, kDescriptorSide, transform);
  Descriptor out;
  size_t i = 0;
  for (int64_t r = 0; r < walk.height; ++r) {
    for (int64_t c = 0; c < walk.width; ++c) {
      out[i++] =
          d[static_cast<size_t>(walk.start + r * walk.row_step + c * walk.column_step)];
    }
  }
  return out;
}

PlaneDescriptor DescribePlane(const std::vector<float>& plane, int64_t height,
                              int64_t width) {
  PlaneDescriptor out;
  out.values = DescriptorOf(plane, height, width);
  out.norm = Norm(out.values);
  for (int t = 0; t < kTransforms; ++t) {
    const Descriptor turned = Turn(out.values, t);
    for (size_t i = 0; i < kCells; ++i) out.mean[i] += turned[i] / kTransforms;
  }
  return out;
}

MapDescriptor DescribeMap(const WholeMap& map, const std::vector<Channel>& channels) {
  MapDescriptor out;
  for (size_t c = 0; c < channels.size(); ++c) {
    if (channels[c].categorical) continue;
    out.planes.push_back(DescribePlane(map.channels[c], map.height, map.width));
  }
  out.planes.push_back(DescribePlane(map.target, map.height, map.width));
  return out;
}

// The mean over the transforms is a projection that commutes with them, so its distance
// is at most the distance under any transform. The slack covers float rounding.
bool SurelyFar(const MapDescriptor& a, const MapDescriptor& b, float threshold) {
  for (size_t p = a.planes.size(); p-- > 0;) {
    const PlaneDescriptor& x = a.planes[p];
    const PlaneDescriptor& y = b.planes[p];
    const float limit = threshold * 1.001f * std::max(x.norm, y.norm);
    if (Distance(x.mean, y.mean) > limit) return true;
  }
  return false;
}

// Smallest distance over the transforms when it is below the threshold.
std::optional<double> CloseDistance(
    const std::vector<std::vector<Descriptor>>& turned_a, const MapDescriptor& a,
    const MapDescriptor& b, float threshold) {
  float best = threshold;
  bool found = false;
  for (size_t t = 0; t < kTransforms; ++t) {
    float worst = 0;
    bool close = true;
    for (size_t p = a.planes.size(); p-- > 0 && close;) {
      const float norm = std::max(a.planes[p].norm, b.planes[p].norm);
      if (norm == 0) continue;
      const float distance = Distance(turned_a[t][p], b.planes[p].values) / norm;
      close = distance < best;  // a NaN compares false and is never close
      worst = std::max(worst, distance);
    }
    if (close) {
      best = worst;
      found = true;
    }
  }
  if (!found) return std::nullopt;
  return static_cast<double>(best);
}

struct RowResult {
  int64_t compared = 0;
  std::vector<NearPair> pairs;
};

RowResult CompareRow(const std::vector<MapDescriptor>& maps, size_t i,
                     float threshold) {
  RowResult result;
  std::vector<std::vector<Descriptor>> turned(kTransforms);
  for (size_t t = 0; t < kTransforms; ++t) {
    for (const PlaneDescriptor& plane : maps[i].planes) {
      turned[t].push_back(Turn(plane.values, static_cast<int>(t)));
    }
  }
  for (size_t j = i + 1; j < maps.size(); ++j) {
    if (SurelyFar(maps[i], maps[j], threshold)) continue;
    ++result.compared;
    const auto distance = CloseDistance(turned, maps[i], maps[j], threshold);
    if (!distance.has_value()) continue;
    result.pairs.push_back(
        {static_cast<int64_t>(i), static_cast<int64_t>(j), *distance});
  }
  return result;
}

}  // namespace

Descriptor DescriptorOf(const std::vector<float>& plane, int64_t height,
                        int64_t width) {
  const double scale = MeanAbsolute(plane);
  Descriptor out{};
  if (scale == 0) return out;
  for (int r = 0; r < kDescriptorSide; ++r) {
    const CellSpan rows(height, r);
    for (int c = 0; c < kDescriptorSide; ++c) {
      const double mean = CellMean(plane, width, rows, CellSpan(width, c));
      out[static_cast<size_t>(r * kDescriptorSide + c)] =
          static_cast<float>(mean / scale);
    }
  }
  return out;
}

NearDuplicates FindNearDuplicates(const MapCollection& collection, double threshold,
                                  int threads) {
  const size_t count = collection.maps.size();
  std::vector<MapDescriptor> maps(count);
  base::ParallelFor(count, threads, [&](size_t i) {
    maps[i] = DescribeMap(collection.maps[i], collection.channels);
  });
  std::vector<RowResult> rows(count);
  base::ParallelFor(count, threads, [&](size_t i) {
    rows[i] = CompareRow(maps, i, static_cast<float>(threshold));
  });
  NearDuplicates out;
  const auto n = static_cast<int64_t>(count);
  out.pairs_considered = n * (n - 1) / 2;
  for (RowResult& row : rows) {
    out.pairs_compared += row.compared;
    out.pairs.insert(out.pairs.end(), row.pairs.begin(), row.pairs.end());
  }
  return out;
}

}  // namespace stepslack::data

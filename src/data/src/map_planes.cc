#include "map_planes.h"

#include <algorithm>
#include <cmath>

namespace stepslack::data {

int CurrentChannel(const std::vector<Channel>& channels) {
  for (size_t c = 0; c < channels.size(); ++c) {
    if (channels[c].name == "current") return static_cast<int>(c);
  }
  for (size_t c = 0; c < channels.size(); ++c) {
    if (!channels[c].categorical) return static_cast<int>(c);
  }
  return -1;
}

std::vector<const std::vector<float>*> PlanesOf(const WholeMap& map) {
  std::vector<const std::vector<float>*> planes;
  for (const auto& channel : map.channels) planes.push_back(&channel);
  planes.push_back(&map.target);
  return planes;
}

bool IsConstant(const std::vector<float>& plane) {
  return std::all_of(plane.begin(), plane.end(),
                     [&](float v) { return v == plane.front(); });
}

double MeanAbsolute(const std::vector<float>& plane) {
  double sum = 0;
  int64_t count = 0;
  for (const float v : plane) {
    if (!std::isfinite(v)) continue;
    sum += std::abs(static_cast<double>(v));
    ++count;
  }
  return count == 0 ? 0.0 : sum / static_cast<double>(count);
}

}  // namespace stepslack::data

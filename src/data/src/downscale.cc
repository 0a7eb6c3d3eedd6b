#include <algorithm>
#include <map>

#include "map_planes.h"
#include "stepslack/data/tiles.h"

namespace stepslack::data {
namespace {

enum class Rule { kSum, kMean, kMode };

struct Block {
  int64_t row_begin, row_end, column_begin, column_end;
};

float Pool(const std::vector<float>& plane, int64_t width, const Block& block,
           Rule rule) {
  double sum = 0;
  std::map<float, int64_t> votes;
  for (int64_t r = block.row_begin; r < block.row_end; ++r) {
    for (int64_t c = block.column_begin; c < block.column_end; ++c) {
      const float v = plane[static_cast<size_t>(r * width + c)];
      if (rule == Rule::kMode) {
        ++votes[v];
      } else {
        sum += static_cast<double>(v);
      }
    }
  }
  if (rule == Rule::kMode) {
    return std::max_element(votes.begin(), votes.end(),
                            [](const auto& a, const auto& b) {
                              return a.second < b.second;  // first of equals wins
                            })
        ->first;
  }
  const int64_t area =
      (block.row_end - block.row_begin) * (block.column_end - block.column_begin);
  return static_cast<float>(rule == Rule::kSum ? sum : sum / static_cast<double>(area));
}

std::vector<float> PoolPlane(const std::vector<float>& plane, int64_t height,
                             int64_t width, int64_t factor, Rule rule) {
  std::vector<float> out;
  for (int64_t r = 0; r < height; r += factor) {
    for (int64_t c = 0; c < width; c += factor) {
      const Block block{r, std::min(height, r + factor), c,
                        std::min(width, c + factor)};
      out.push_back(Pool(plane, width, block, rule));
    }
  }
  return out;
}

}  // namespace

WholeMap Downscale(const WholeMap& map, const std::vector<Channel>& channels,
                   int64_t factor) {
  WholeMap out;
  out.id = map.id;
  out.group = map.group;
  out.source = map.source;
  out.height = (map.height - 1) / factor + 1;
  out.width = (map.width - 1) / factor + 1;
  const int current = CurrentChannel(channels);
  for (size_t c = 0; c < map.channels.size(); ++c) {
    const Rule rule = static_cast<int>(c) == current ? Rule::kSum
                      : channels[c].categorical      ? Rule::kMode
                                                     : Rule::kMean;
    out.channels.push_back(
        PoolPlane(map.channels[c], map.height, map.width, factor, rule));
  }
  out.target = PoolPlane(map.target, map.height, map.width, factor, Rule::kMean);
  return out;
}

}  // namespace stepslack::data

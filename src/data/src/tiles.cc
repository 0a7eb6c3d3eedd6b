#include "stepslack/data/tiles.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "stepslack/record/array_file.h"

namespace stepslack::data {
namespace {

using base::ExitCode;
using base::Fail;

// One tile along one axis: where it starts and which pixels it owns.
struct Span {
  int64_t begin = 0;
  int64_t own_begin = 0;  // absolute
  int64_t own_end = 0;
};

std::vector<Span> SpansOf(int64_t size, int64_t tile, int64_t stride) {
  std::vector<Span> spans;
  for (int64_t begin = 0;; begin += stride) {
    const int64_t flush = std::min(begin, size - tile);
    spans.push_back({flush, 0, size});
    if (flush == size - tile) break;
  }
  for (size_t k = 1; k < spans.size(); ++k) {
    // The middle of the overlap [begin of the next, end of this one).
    const int64_t border = (spans[k].begin + spans[k - 1].begin + tile) / 2;
    spans[k - 1].own_end = border;
    spans[k].own_begin = border;
  }
  return spans;
}

void CopyTile(const std::vector<float>& plane, int64_t width, const TileInfo& info,
              int64_t tile, std::vector<float>& out) {
  for (int64_t r = 0; r < tile; ++r) {
    const auto begin = plane.begin() + (info.row + r) * width + info.column;
    out.insert(out.end(), begin, begin + tile);
  }
}

void CutMap(const WholeMap& map, int64_t index, int64_t stride, TileSet& out) {
  const int64_t tile = out.tile;
  for (const Span& row : SpansOf(map.height, tile, stride)) {
    for (const Span& column : SpansOf(map.width, tile, stride)) {
      const TileInfo info{index,
                          row.begin,
                          column.begin,
                          row.own_begin - row.begin,
                          row.own_end - row.begin,
                          column.own_begin - column.begin,
                          column.own_end - column.begin};
      for (const auto& channel : map.channels) {
        CopyTile(channel, map.width, info, tile, out.x);
      }
      CopyTile(map.target, map.width, info, tile, out.y);
      out.tiles.push_back(info);
    }
  }
}

tl::unexpected<base::Error> BadPredictions(std::string what) {
  return Fail("DATA-0072", ExitCode::kInput, std::move(what), "predictions",
              "predict every tile of the listed maps once, as [k,tile,tile]");
}

base::Status CheckPredictions(const TileSet& set, const std::vector<int64_t>& numbers,
                              size_t values) {
  const size_t area = static_cast<size_t>(set.tile * set.tile);
  if (values != numbers.size() * area) {
    return BadPredictions(fmt::format("{} values for {} tiles of {}x{}", values,
                                      numbers.size(), set.tile, set.tile));
  }
  std::set<int64_t> seen;
  for (const int64_t number : numbers) {
    if (number < 0 || number >= set.size() || !seen.insert(number).second) {
      return BadPredictions(fmt::format("tile {} is unknown or occurs twice", number));
    }
  }
  return {};
}

void PasteOwned(const TileInfo& info, int64_t tile, const float* values,
                StitchedMap& out) {
  for (int64_t r = info.own_row_begin; r < info.own_row_end; ++r) {
    const float* from = values + r * tile + info.own_column_begin;
    const int64_t to = (info.row + r) * out.width + info.column + info.own_column_begin;
    std::copy(from, from + (info.own_column_end - info.own_column_begin),
              out.values.begin() + to);
  }
}

int64_t OwnedPixels(const TileInfo& info) {
  return (info.own_row_end - info.own_row_begin) *
         (info.own_column_end - info.own_column_begin);
}

}  // namespace

base::Result<TileSet> CutTiles(const MapCollection& collection, int64_t tile,
                               int64_t stride, int64_t downscale) {
  if (tile < 1 || stride < 1 || stride > tile || downscale < 1) {
    return Fail("DATA-0070", ExitCode::kUsage,
                fmt::format("tile {}, stride {} and downscale {} do not cover a map",
                            tile, stride, downscale),
                "tiles", "choose 1 <= stride <= tile and downscale >= 1");
  }
  TileSet set;
  set.tile = tile;
  set.downscale = downscale;
  set.channels = collection.channels;
  for (size_t i = 0; i < collection.maps.size(); ++i) {
    const WholeMap& whole = collection.maps[i];
    // Rounds up without overflow for any factor.
    const MapShape shape{(whole.height - 1) / downscale + 1,
                         (whole.width - 1) / downscale + 1};
    set.shapes.push_back(shape);
    const auto index = static_cast<int64_t>(i);
    if (shape.height < tile || shape.width < tile) {
      set.refused_maps.push_back(index);
    } else if (downscale == 1) {
      CutMap(whole, index, stride, set);
    } else {
      CutMap(Downscale(whole, collection.channels, downscale), index, stride, set);
    }
  }
  if (set.tiles.empty()) {
    return Fail("DATA-0071", ExitCode::kInput,
                fmt::format("all {} maps are smaller than a {}x{} tile",
                            collection.maps.size(), tile, tile),
                "tiles", "choose a smaller tile or a smaller downscale factor");
  }
  return set;
}

std::vector<int64_t> TilesOfMaps(const TileSet& set, const std::vector<int64_t>& maps) {
  const std::set<int64_t> wanted(maps.begin(), maps.end());
  std::vector<int64_t> out;
  for (int64_t t = 0; t < set.size(); ++t) {
    if (wanted.count(set.tiles[static_cast<size_t>(t)].map) != 0) out.push_back(t);
  }
  return out;
}

base::Result<std::vector<StitchedMap>> Stitch(const TileSet& set,
                                              const std::vector<int64_t>& tile_numbers,
                                              std::span<const float> predictions) {
  SS_RETURN_IF_ERROR(CheckPredictions(set, tile_numbers, predictions.size()));
  std::map<int64_t, StitchedMap> maps;
  std::map<int64_t, int64_t> covered;
  const size_t area = static_cast<size_t>(set.tile * set.tile);
  for (size_t k = 0; k < tile_numbers.size(); ++k) {
    const TileInfo& info = set.tiles[static_cast<size_t>(tile_numbers[k])];
    const auto [at, fresh] = maps.try_emplace(info.map);
    StitchedMap& map = at->second;
    if (fresh) {
      const MapShape& shape = set.shapes[static_cast<size_t>(info.map)];
      map = {info.map, shape.height, shape.width, {}};
      map.values.resize(static_cast<size_t>(shape.height * shape.width));
    }
    PasteOwned(info, set.tile, predictions.data() + k * area, map);
    covered[info.map] += OwnedPixels(info);
  }
  std::vector<StitchedMap> out;
  for (auto& [index, map] : maps) {
    if (covered[index] != map.height * map.width) {
      return Fail("DATA-0073", ExitCode::kInput,
                  fmt::format("{} of {} pixels of map {} are predicted", covered[index],
                              map.height * map.width, index),
                  "predictions", "predict all tiles of a map or none");
    }
    out.push_back(std::move(map));
  }
  return out;
}

base::Result<std::vector<StitchedMap>> Stitch(const TileSet& set,
                                              std::span<const float> predictions) {
  std::vector<int64_t> all(set.tiles.size());
  for (size_t t = 0; t < all.size(); ++t) all[t] = static_cast<int64_t>(t);
  return Stitch(set, all, predictions);
}

std::vector<CategoricalChannel> CategoricalChannels(const TileSet& set) {
  std::vector<CategoricalChannel> found;
  const int64_t area = set.tile * set.tile;
  const auto channels = static_cast<int64_t>(set.channels.size());
  for (int64_t channel = 0; channel < channels; ++channel) {
    if (!set.channels[static_cast<size_t>(channel)].categorical) continue;
    float largest = 0;
    for (int64_t n = 0; n < set.size(); ++n) {
      const auto begin = set.x.begin() + (n * channels + channel) * area;
      largest = std::max(largest, *std::max_element(begin, begin + area));
    }
    found.push_back({.channel = static_cast<int>(channel),
                     .classes = static_cast<int>(std::lround(largest)) + 1});
  }
  return found;
}

base::Status WriteTiles(const TileSet& set, const std::string& inputs_path,
                        const std::string& targets_path) {
  const auto channels = static_cast<int64_t>(set.channels.size());
  SS_RETURN_IF_ERROR(record::WriteNpy(
      inputs_path, {set.size(), channels, set.tile, set.tile}, set.x.data()));
  return record::WriteNpy(targets_path, {set.size(), set.tile, set.tile}, set.y.data());
}

}  // namespace stepslack::data

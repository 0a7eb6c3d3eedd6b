// Equally sized square tiles cut from whole maps, and whole maps put together again
// from predictions on tiles.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "stepslack/base/result.h"
#include "stepslack/data/map_collection.h"

namespace stepslack::data {

// Place of a tile and the part of it that it owns. Within one map every pixel is owned
// by exactly one tile: between overlapping neighbours the border runs through the
// middle of the overlap, so that predictions near a tile's edge are used least.
struct TileInfo {
  int64_t map = 0;  // position in the collection that was cut
  int64_t row = 0;  // first row and column, in pixels after downscaling
  int64_t column = 0;
  int64_t own_row_begin = 0;  // owned pixels, relative to the tile
  int64_t own_row_end = 0;
  int64_t own_column_begin = 0;
  int64_t own_column_end = 0;
};

struct MapShape {
  int64_t height = 0;  // after downscaling
  int64_t width = 0;
};

struct TileSet {
  int64_t tile = 0;
  int64_t downscale = 1;
  std::vector<Channel> channels;
  std::vector<float> x;               // [n,c,tile,tile]
  std::vector<float> y;               // [n,tile,tile]
  std::vector<TileInfo> tiles;        // ordered by map, row, column
  std::vector<MapShape> shapes;       // per map of the collection
  std::vector<int64_t> refused_maps;  // smaller than a tile

  int64_t size() const { return static_cast<int64_t>(tiles.size()); }
};

// A grid of tiles over every map: steps of `stride`, the last tile flush with the edge.
// A map of exactly the tile size gives itself. Maps are first made coarser by the
// integer `downscale`: the current channel is summed over the block, classes take the
// most frequent value (the smaller of equals), all else the mean; blocks at the far
// edge may be partial. DATA-0070: tile < 1, stride not in [1, tile] (it would leave
// gaps), downscale < 1. DATA-0071: every map is smaller than a tile.
base::Result<TileSet> CutTiles(const MapCollection& collection, int64_t tile,
                               int64_t stride, int64_t downscale = 1);

// Tiles of the given maps, ascending: turns a split over maps into one over tiles.
std::vector<int64_t> TilesOfMaps(const TileSet& set, const std::vector<int64_t>& maps);

struct StitchedMap {
  int64_t map = 0;
  int64_t height = 0;
  int64_t width = 0;
  std::vector<float> values;  // row-major
};

// Predictions [k,tile,tile] for the tiles with the given numbers, in that order, to
// whole maps ordered by position. DATA-0072: sizes do not fit or a tile number is
// unknown or repeated; DATA-0073: a map is covered in part only.
base::Result<std::vector<StitchedMap>> Stitch(const TileSet& set,
                                              const std::vector<int64_t>& tile_numbers,
                                              std::span<const float> predictions);
// All tiles in order.
base::Result<std::vector<StitchedMap>> Stitch(const TileSet& set,
                                              std::span<const float> predictions);

struct CategoricalChannel {
  int channel = 0;  // position among the channels
  int classes = 0;  // class numbers are 0 .. classes - 1
};

// The channels that hold class numbers, with as many classes as the tiles show.
std::vector<CategoricalChannel> CategoricalChannels(const TileSet& set);

// float32 [n,c,h,w] and [n,h,w].
base::Status WriteTiles(const TileSet& set, const std::string& inputs_path,
                        const std::string& targets_path);

// One map made coarser, as CutTiles does it.
WholeMap Downscale(const WholeMap& map, const std::vector<Channel>& channels,
                   int64_t factor);

}  // namespace stepslack::data

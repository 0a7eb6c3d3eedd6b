#include "stepslack/data/tiles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "sample_maps.h"
#include "stepslack/record/array_file.h"

namespace stepslack::data {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

MapCollection OneMap(int64_t height, int64_t width, uint64_t seed = 1) {
  MapCollection collection = EmptyCollection();
  collection.maps.push_back(RandomMap("m", "g", seed, height, width));
  return collection;
}

TEST(Tiles, AMapOfTheTileSizeGivesItself) {
  const MapCollection collection = OneMap(16, 16);
  const auto set = CutTiles(collection, 16, 16);
  ASSERT_TRUE(set.has_value());
  EXPECT_EQ(set->size(), 1);
  std::vector<float> expected;
  for (const auto& c : collection.maps[0].channels) {
    expected.insert(expected.end(), c.begin(), c.end());
  }
  EXPECT_EQ(set->x, expected);
  EXPECT_EQ(set->y, collection.maps[0].target);
}

TEST(Tiles, TheLastTileIsFlushAndBordersRunThroughTheOverlap) {
  const auto set = CutTiles(OneMap(4, 10), 4, 4);
  ASSERT_TRUE(set.has_value());
  ASSERT_THAT(set->tiles, SizeIs(3));  // columns 0-3, 4-7, 6-9
  EXPECT_EQ(set->tiles[1].column, 4);
  EXPECT_EQ(set->tiles[2].column, 6);
  EXPECT_EQ(set->tiles[0].own_column_end, 4);
  EXPECT_EQ(set->tiles[1].own_column_begin, 0);
  EXPECT_EQ(set->tiles[1].own_column_end, 3);    // up to column 7
  EXPECT_EQ(set->tiles[2].own_column_begin, 1);  // from column 7
  EXPECT_EQ(set->tiles[2].own_column_end, 4);
}

TEST(Tiles, SmallerMapsAreRefusedAndCounted) {
  MapCollection collection = OneMap(16, 16);
  collection.maps.push_back(RandomMap("small", "g", 2, 16, 7));
  const auto set = CutTiles(collection, 8, 8);
  ASSERT_TRUE(set.has_value());
  EXPECT_THAT(set->refused_maps, ElementsAre(1));
  EXPECT_EQ(set->size(), 4);
  EXPECT_EQ(CutTiles(collection, 17, 8).error().id, "DATA-0071");
}

TEST(Tiles, RefusesParametersThatLeaveGaps) {
  for (const auto& [tile, stride, scale] : std::vector<std::array<int64_t, 3>>{
           {8, 9, 1}, {8, 0, 1}, {0, 0, 1}, {8, 8, 0}, {-1, 1, 1}}) {
    EXPECT_EQ(CutTiles(OneMap(16, 16), tile, stride, scale).error().id, "DATA-0070");
  }
}

TEST(Tiles, DownscaleSumsCurrentsAveragesTheRestAndVotesOnClasses) {
  MapCollection collection = EmptyCollection();
  WholeMap map;
  map.id = "m";
  map.height = 2;
  map.width = 3;
  map.channels = {{1, 2, 3, 4, 5, 6}, {2, 1, 0, 1, 2, 0}, {1, 2, 3, 4, 5, 7}};
  map.target = {8, 0, 4, 0, 0, 2};
  collection.maps.push_back(map);
  const WholeMap coarse = Downscale(map, collection.channels, 2);
  EXPECT_EQ(coarse.height, 1);
  EXPECT_EQ(coarse.width, 2);
  EXPECT_THAT(coarse.channels[0], ElementsAre(12, 9));  // 1+2+4+5, 3+6
  EXPECT_THAT(coarse.channels[1], ElementsAre(1, 0));  // two of 1 and of 2: the smaller
  EXPECT_THAT(coarse.channels[2], ElementsAre(3, 5));
  EXPECT_THAT(coarse.target, ElementsAre(2, 3));
  const auto set = CutTiles(collection, 1, 1, 2);
  ASSERT_TRUE(set.has_value());
  EXPECT_EQ(set->size(), 2);
  EXPECT_THAT(set->y, ElementsAre(2, 3));
  EXPECT_EQ(set->shapes[0].width, 2);
}

TEST(Tiles, TilesOfMapsTurnsASplitOverMapsIntoOneOverTiles) {
  MapCollection collection = OneMap(16, 16);
  collection.maps.push_back(RandomMap("n", "g", 2, 8, 8));
  collection.maps.push_back(RandomMap("o", "g", 3, 8, 16));
  const auto set = CutTiles(collection, 8, 8);
  EXPECT_THAT(TilesOfMaps(*set, {2, 1}), ElementsAre(4, 5, 6));
  const auto stitched =
      Stitch(*set, {6, 4, 5},
             std::vector<float>(set->y.begin() + 4 * 64, set->y.begin() + 7 * 64));
  ASSERT_TRUE(stitched.has_value());  // the order of values is that of the numbers
  EXPECT_THAT(*stitched, SizeIs(2));
  EXPECT_EQ((*stitched)[0].map, 1);
}

TEST(Tiles, StitchRefusesWhatDoesNotCoverWholeMaps) {
  const auto set = CutTiles(OneMap(8, 16), 8, 8);
  const std::vector<float> two(128, 1.0f);
  const std::vector<float> one(64, 1.0f);
  EXPECT_TRUE(Stitch(*set, two).has_value());
  EXPECT_EQ(Stitch(*set, one).error().id, "DATA-0072");
  EXPECT_EQ(Stitch(*set, {0, 0}, two).error().id, "DATA-0072");
  EXPECT_EQ(Stitch(*set, {0, 2}, two).error().id, "DATA-0072");
  EXPECT_EQ(Stitch(*set, {0, -1}, two).error().id, "DATA-0072");
  EXPECT_EQ(Stitch(*set, {1}, one).error().id, "DATA-0073");
}

TEST(Tiles, WrittenArraysReadBack) {
  TempFolder folder;
  const auto set = CutTiles(OneMap(8, 16), 8, 8);
  ASSERT_TRUE(WriteTiles(*set, folder.Join("x.npy"), folder.Join("y.npy")));
  const auto x = record::ReadNpy(folder.Join("x.npy"));
  const auto y = record::ReadNpy(folder.Join("y.npy"));
  ASSERT_TRUE(x.has_value() && y.has_value());
  EXPECT_THAT(x->shape, ElementsAre(2, 3, 8, 8));
  EXPECT_THAT(y->shape, ElementsAre(2, 8, 8));
  EXPECT_EQ(x->values, set->x);
  EXPECT_EQ(y->values, set->y);
}

RC_GTEST_PROP(Tiles, StitchingTheCutTargetsGivesTheMapsBack, ()) {
  const auto tile = *rc::gen::inRange<int64_t>(1, 9);
  const auto stride = *rc::gen::inRange<int64_t>(1, tile + 1);
  MapCollection collection = EmptyCollection();
  for (uint64_t i = 0; i < 3; ++i) {
    collection.maps.push_back(RandomMap("m" + std::to_string(i), "g", i,
                                        *rc::gen::inRange<int64_t>(tile, 30),
                                        *rc::gen::inRange<int64_t>(tile, 30)));
  }
  const auto set = CutTiles(collection, tile, stride);
  RC_ASSERT(set.has_value());
  const auto stitched = Stitch(*set, set->y);
  RC_ASSERT(stitched.has_value());
  RC_ASSERT(stitched->size() == 3u);
  for (size_t i = 0; i < 3; ++i) {
    RC_ASSERT((*stitched)[i].values == collection.maps[i].target);
  }
}

RC_GTEST_PROP(Tiles, EveryPixelIsOwnedOnce, ()) {
  const auto tile = *rc::gen::inRange<int64_t>(1, 9);
  const auto stride = *rc::gen::inRange<int64_t>(1, tile + 1);
  const auto height = *rc::gen::inRange<int64_t>(tile, 40);
  const auto width = *rc::gen::inRange<int64_t>(tile, 40);
  const auto set = CutTiles(OneMap(height, width), tile, stride);
  RC_ASSERT(set.has_value());
  std::vector<int> owners(static_cast<size_t>(height * width), 0);
  for (const TileInfo& info : set->tiles) {
    RC_ASSERT(info.own_row_begin >= 0 && info.own_row_end <= tile);
    RC_ASSERT(info.own_column_begin >= 0 && info.own_column_end <= tile);
    for (int64_t r = info.own_row_begin; r < info.own_row_end; ++r) {
      for (int64_t c = info.own_column_begin; c < info.own_column_end; ++c) {
        ++owners[static_cast<size_t>((info.row + r) * width + info.column + c)];
      }
    }
  }
  for (const int count : owners) RC_ASSERT(count == 1);
}

RC_GTEST_PROP(Tiles, DownscalingKeepsTheTotalCurrent, ()) {
  const auto factor = *rc::gen::inRange<int64_t>(1, 7);
  MapCollection collection =
      OneMap(*rc::gen::inRange<int64_t>(1, 20), *rc::gen::inRange<int64_t>(1, 20));
  WholeMap& map = collection.maps[0];
  for (float& v : map.channels[0]) v = std::floor(v);  // small integers: sums are exact
  const WholeMap coarse = Downscale(map, collection.channels, factor);
  double before = 0;
  double after = 0;
  for (const float v : map.channels[0]) before += static_cast<double>(v);
  for (const float v : coarse.channels[0]) after += static_cast<double>(v);
  RC_ASSERT(before == after);
}

}  // namespace
}  // namespace stepslack::data

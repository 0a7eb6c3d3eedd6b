#include "map_pixels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace stepslack::render {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

MapImage Image(int64_t height, int64_t width, std::vector<float> values,
               bool diverging = false) {
  return {.name = "m",
          .unit = "mV",
          .height = height,
          .width = width,
          .values = std::move(values),
          .diverging = diverging,
          .scale_low = {},
          .scale_high = {}};
}

TEST(MapStats, FindsExtremesAndWhereTheMaximumIs) {
  const MapStats stats = StatsOf(Image(2, 3, {1, 2, 3, 7, kNan, -1}));
  EXPECT_TRUE(stats.valid);
  EXPECT_EQ(stats.finite, 5u);
  EXPECT_EQ(stats.missing, 1u);
  EXPECT_DOUBLE_EQ(stats.min, -1);
  EXPECT_DOUBLE_EQ(stats.max, 7);
  EXPECT_DOUBLE_EQ(stats.mean, 2.4);
  EXPECT_EQ(stats.max_row, 1);
  EXPECT_EQ(stats.max_column, 0);
}

TEST(MapStats, PointsAtTheLargestMagnitudeOfAnErrorMap) {
  const MapStats stats = StatsOf(Image(1, 3, {1, -5, 4}, true));
  EXPECT_EQ(stats.max_column, 1);
  EXPECT_DOUBLE_EQ(stats.max, 4);
}

TEST(MapStats, RefusesSidesThatDoNotFit) {
  EXPECT_FALSE(StatsOf(Image(2, 2, {1, 2, 3})).valid);
  EXPECT_FALSE(StatsOf(Image(0, 0, {})).valid);
  EXPECT_FALSE(StatsOf(Image(-1, -1, {1})).valid);
  EXPECT_FALSE(StatsOf(Image(int64_t{1} << 62, 4, {1})).valid);
}

TEST(ColourScale, IsSymmetricForErrorsAndSharedWhenGiven) {
  MapImage image = Image(1, 2, {-1, 3}, true);
  ColourScale scale = ScaleOf(image, StatsOf(image));
  EXPECT_DOUBLE_EQ(scale.low, -3);
  EXPECT_DOUBLE_EQ(scale.high, 3);
  EXPECT_DOUBLE_EQ(scale.Position(0), 0.5);
  image.diverging = false;
  image.scale_low = 0;
  image.scale_high = 10;
  scale = ScaleOf(image, StatsOf(image));
  EXPECT_DOUBLE_EQ(scale.Position(5), 0.5);
  EXPECT_TRUE(std::isnan(scale.Position(kNan)));
}

TEST(ColourScale, PutsASingleValueInTheMiddle) {
  const MapImage image = Image(1, 1, {4});
  EXPECT_DOUBLE_EQ(ScaleOf(image, StatsOf(image)).Position(4), 0.5);
}

TEST(Coarsen, KeepsTheLargestMagnitudeOfEachBlock) {
  const PixelGrid grid = Coarsen(Image(2, 4, {1, 2, 3, kNan, -9, 0, kNan, kNan}), 2);
  EXPECT_EQ(grid.block, 2);
  EXPECT_EQ(grid.height, 1);
  EXPECT_EQ(grid.width, 2);
  EXPECT_FLOAT_EQ(grid.values[0], -9);
  EXPECT_FLOAT_EQ(grid.values[1], 3);
}

TEST(Coarsen, LeavesASmallMapAsItIs) {
  const MapImage image = Image(2, 2, {1, 2, 3, 4});
  EXPECT_EQ(Coarsen(image, 2).values, image.values);
}

}  // namespace
}  // namespace stepslack::render

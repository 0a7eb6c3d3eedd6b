#include "hotspots.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdlib>
#include <vector>

namespace stepslack::quality {
namespace {

using ::testing::ElementsAre;

TEST(LargestMask, TakesTheEarlierOfEqualValues) {
  const std::vector<float> values = {3, 1, 3, 3, 5};
  EXPECT_THAT(LargestMask(values, 3), ElementsAre(1, 0, 1, 0, 1));
  EXPECT_THAT(LargestMask(values, 0), ElementsAre(0, 0, 0, 0, 0));
  EXPECT_THAT(LargestMask(values, 99), ElementsAre(1, 1, 1, 1, 1));
}

TEST(DescendingOrder, KeepsEqualValuesInPlace) {
  const std::vector<float> values = {1, 7, 7, 0};
  EXPECT_THAT(DescendingOrder(values), ElementsAre(1, 2, 0, 3));
}

TEST(BlockMaxima, CutsUnevenSidesWithoutGaps) {
  // Rows 0 | 1 2, columns 0 | 1 2 of a 3 x 3 plane.
  const std::vector<float> values = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  EXPECT_THAT(BlockMaxima(values, 3, 3, 2, 2), ElementsAre(1, 3, 7, 9));
}

RC_GTEST_PROP(Dilate, SetsExactlyThePixelsNearASetOne, ()) {
  const int64_t height = *rc::gen::inRange<int64_t>(1, 9);
  const int64_t width = *rc::gen::inRange<int64_t>(1, 9);
  const int64_t radius = *rc::gen::inRange<int64_t>(0, 4);
  const auto mask = *rc::gen::container<std::vector<uint8_t>>(
      static_cast<size_t>(height * width),
      rc::gen::weightedElement<uint8_t>({{5, uint8_t{0}}, {1, uint8_t{1}}}));
  const std::vector<uint8_t> grown = Dilate(mask, height, width, radius);
  for (int64_t i = 0; i < height * width; ++i) {
    uint8_t near = 0;
    for (int64_t j = 0; j < height * width; ++j) {
      const bool close = std::abs(i / width - j / width) <= radius &&
                         std::abs(i % width - j % width) <= radius;
      if (close && mask[static_cast<size_t>(j)] != 0) near = 1;
    }
    RC_ASSERT(grown[static_cast<size_t>(i)] == near);
  }
}

}  // namespace
}  // namespace stepslack::quality

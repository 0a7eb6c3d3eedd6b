#include "dihedral.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace stepslack::train {
namespace {

using Map = std::vector<float>;

Map Turn(int transform, int64_t height, int64_t width, const Map& in) {
  Map out(in.size());
  ApplyDihedral(transform, height, width, in.data(), out.data());
  return out;
}

TEST(Dihedral, MovesThePixelsOfASquareByHand) {
  // 1 2
  // 3 4
  const Map map = {1, 2, 3, 4};
  EXPECT_EQ(Turn(0, 2, 2, map), (Map{1, 2, 3, 4}));
  EXPECT_EQ(Turn(1, 2, 2, map), (Map{3, 4, 1, 2}));
  EXPECT_EQ(Turn(2, 2, 2, map), (Map{2, 1, 4, 3}));
  EXPECT_EQ(Turn(3, 2, 2, map), (Map{4, 3, 2, 1}));
  EXPECT_EQ(Turn(4, 2, 2, map), (Map{1, 3, 2, 4}));  // transpose
}

TEST(Dihedral, EightTransformsOfASquareAreAllDifferentPermutations) {
  Map map(25);
  for (size_t i = 0; i < map.size(); ++i) map[i] = static_cast<float>(i);
  std::set<Map> seen;
  for (int transform = 0; transform < DihedralCount(5, 5); ++transform) {
    const Map turned = Turn(transform, 5, 5, map);
    EXPECT_EQ(turned[12], 12.0F);  // the centre stays
    EXPECT_EQ(std::set<float>(turned.begin(), turned.end()).size(), 25U);
    seen.insert(turned);
  }
  EXPECT_EQ(seen.size(), 8U);
}

TEST(Dihedral, NeighboursStayNeighbours) {
  Map map(36);
  for (size_t i = 0; i < map.size(); ++i) map[i] = static_cast<float>(i);
  for (int transform = 0; transform < 8; ++transform) {
    const Map turned = Turn(transform, 6, 6, map);
    const float right = turned[1] - turned[0];
    const float down = turned[6] - turned[0];
    // One step along either axis is +-1 in one direction and +-6 in the other.
    EXPECT_EQ(right * right + down * down, 37.0F) << transform;
  }
}

TEST(Dihedral, RectanglesKeepTheirShape) {
  EXPECT_EQ(DihedralCount(2, 3), 4);
  const Map map = {1, 2, 3, 4, 5, 6};
  EXPECT_EQ(Turn(1, 2, 3, map), (Map{4, 5, 6, 1, 2, 3}));
  EXPECT_EQ(Turn(2, 2, 3, map), (Map{3, 2, 1, 6, 5, 4}));
  EXPECT_EQ(Turn(3, 2, 3, map), (Map{6, 5, 4, 3, 2, 1}));
}

}  // namespace
}  // namespace stepslack::train

#include "stepslack/eda/floorplan.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace stepslack::eda {
namespace {

TEST(Floorplan, PadsStandOnMetalOfEveryTemplateAndApart) {
  for (const int tiles : {16, 17, 33, 64, 100}) {
    for (int f = 0; f < 60; ++f) {
      const Family family = DrawFamily(9, f, tiles);
      EXPECT_GE(family.pads.size(), 2u);
      std::set<std::pair<int, int>> places;
      for (const Pad& pad : family.pads) {
        ASSERT_TRUE(pad.x >= 0 && pad.y >= 0 && pad.x < tiles && pad.y < tiles);
        EXPECT_TRUE(AlwaysStripe(tiles, pad.x, pad.y));
        places.insert({pad.x, pad.y});
      }
      EXPECT_EQ(places.size(), family.pads.size());
    }
  }
}

TEST(Floorplan, FamiliesDifferInPads) {
  std::set<std::vector<std::pair<int, int>>> seen;
  std::set<PadStyle> styles;
  for (int f = 0; f < 100; ++f) {
    const Family family = DrawFamily(1, f, 64);
    styles.insert(family.pad_style);
    std::vector<std::pair<int, int>> pads;
    for (const Pad& pad : family.pads) pads.emplace_back(pad.x, pad.y);
    seen.insert(pads);
  }
  EXPECT_EQ(seen.size(), 100u);
  EXPECT_EQ(styles.size(), static_cast<size_t>(kPadStyles));
}

TEST(Floorplan, EvenVariantsKeepTheTemplateMapAndOddOnesRedrawIt) {
  int redrawn = 0;
  for (int f = 0; f < 40; ++f) {
    const Family family = DrawFamily(1, f, 64);
    for (const int v : {0, 2, 6}) {
      EXPECT_EQ(DrawVariant(family, v).grid.template_class, family.template_class);
    }
    const Variant first = DrawVariant(family, 1);
    const Variant third = DrawVariant(family, 3);
    redrawn += first.grid.template_class != third.grid.template_class ? 1 : 0;
    EXPECT_EQ(first.grid.pads, family.pads);
    EXPECT_EQ(first.grid.stripe, StripeMask(64, first.grid.template_class));
  }
  EXPECT_GE(redrawn, 38);  // two draws of a single-template map may agree
}

TEST(Floorplan, EveryVariantDrawsNewCurrentsOfTheStatedMean) {
  for (int f = 0; f < 10; ++f) {
    const Family family = DrawFamily(1, f, 48);
    std::set<std::vector<float>> seen;
    for (int v = 0; v < 4; ++v) {
      const std::vector<float> current = DrawVariant(family, v).current_ua;
      double sum = 0;
      for (const float c : current) {
        ASSERT_TRUE(std::isfinite(c) && c > 0);
        sum += c;
      }
      const double mean = sum / static_cast<double>(current.size());
      EXPECT_TRUE(mean > 19.99 && mean < 60.01) << mean;
      seen.insert(current);
    }
    EXPECT_EQ(seen.size(), 4u);
  }
}

TEST(Floorplan, SameSeedDrawsTheSameAndAnotherSeedDoesNot) {
  const Variant a = DrawVariant(DrawFamily(4, 2, 32), 3);
  const Variant b = DrawVariant(DrawFamily(4, 2, 32), 3);
  const Variant other = DrawVariant(DrawFamily(5, 2, 32), 3);
  EXPECT_EQ(a.current_ua, b.current_ua);
  EXPECT_EQ(a.grid.template_class, b.grid.template_class);
  EXPECT_NE(a.current_ua, other.current_ua);
}

}  // namespace
}  // namespace stepslack::eda

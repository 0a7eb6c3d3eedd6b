#include "stepslack/stats/power.h"

#include <gtest/gtest.h>

#include <cmath>

namespace stepslack::stats {
namespace {

TEST(RunsPerSide, MatchesCohensTable) {
  // Cohen 1988, table 2.4.1 (two-sided 5 %, power 80 %).
  EXPECT_EQ(RunsPerSide(0.2, 1), 394);
  EXPECT_EQ(RunsPerSide(0.5, 1), 64);
  EXPECT_EQ(RunsPerSide(0.8, 1), 26);
  EXPECT_EQ(RunsPerSide(1.0, 1), 17);
  EXPECT_EQ(RunsPerSide(-2.0, 2), 17);
}

TEST(PairsNeeded, MatchesThePairedDesign) {
  EXPECT_EQ(PairsNeeded(0.5, 1), 34);
  EXPECT_EQ(PairsNeeded(1.0, 1), 10);
}

TEST(PowerOfRuns, IsAlphaWithoutEffect) {
  EXPECT_NEAR(*PowerOfRuns(5, 0, 1, 0.05), 0.05, 1e-9);
  EXPECT_NEAR(*PowerOfPairs(5, 0, 1, 0.05), 0.05, 1e-9);
}

TEST(PowerOfRuns, ApproachesOneForAHugeEffect) {
  EXPECT_NEAR(*PowerOfRuns(10, 100, 1), 1, 1e-12);
}

TEST(RunsPerSide, HasNoAnswerForAnEffectOfZero) {
  EXPECT_FALSE(RunsPerSide(0, 1).has_value());
  EXPECT_FALSE(RunsPerSide(1, 0).has_value());
  EXPECT_FALSE(RunsPerSide(1e-12, 1).has_value());
  EXPECT_FALSE(RunsPerSide(NAN, 1).has_value());
  EXPECT_FALSE(RunsPerSide(1, 1, {.power = 1.0}).has_value());
  EXPECT_EQ(RunsPerSide(1e9, 1), 2);
}

TEST(MoreRunsToShrink, HalvesThreeRunsWithTwoMore) {
  // t(2)/sqrt(3) = 2.4841; t(3)/sqrt(4) = 1.5912; t(4)/sqrt(5) = 1.2417 <= 1.2421.
  EXPECT_EQ(MoreRunsToShrink(3, 0.5), 2);
}

TEST(MoreRunsToShrink, NeedsAboutFourTimesAsManyWhenThereAreMany) {
  // t(99)/10 / 2 = 0.099211; t(391)/sqrt(392) = 0.099300; t(392)/sqrt(393) = 0.099173.
  EXPECT_EQ(MoreRunsToShrink(100, 0.5), 293);
  EXPECT_FALSE(MoreRunsToShrink(1, 0.5).has_value());
  EXPECT_FALSE(MoreRunsToShrink(10, 1.0).has_value());
}

}  // namespace
}  // namespace stepslack::stats

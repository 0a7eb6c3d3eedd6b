#include "stepslack/stats/change_points.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "stepslack/base/random.h"

namespace stepslack::stats {
namespace {

std::vector<double> Noise(size_t n, double level, uint64_t seed) {
  base::Random random(seed);
  std::vector<double> values;
  for (size_t i = 0; i < n; ++i) values.push_back(level + random.Normal());
  return values;
}

void Append(std::vector<double>& to, const std::vector<double>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

TEST(ChangePoints, FindsOneStepUpAtItsPlaceWithItsLevels) {
  std::vector<double> values(20, 100.0);
  Append(values, std::vector<double>(15, 120.0));
  const auto points = FindChangePoints(values);
  ASSERT_EQ(points.size(), 1u);
  EXPECT_EQ(points[0].index, 20u);
  EXPECT_EQ(points[0].before, 100.0);
  EXPECT_EQ(points[0].after, 120.0);
  // No permutation of 20 and 15 values reached the sorted one.
  EXPECT_DOUBLE_EQ(points[0].p, 0.001);
}

TEST(ChangePoints, FindsThereAndBack) {
  std::vector<double> values = Noise(40, 100, 1);
  Append(values, Noise(30, 110, 2));
  Append(values, Noise(50, 100, 3));
  const auto points = FindChangePoints(values);
  ASSERT_EQ(points.size(), 2u);
  EXPECT_EQ(points[0].index, 40u);
  EXPECT_EQ(points[1].index, 70u);
  EXPECT_NEAR(points[0].after, 110, 0.7);  // three standard errors of a median of 30
}

TEST(ChangePoints, AConstantSeriesHasNone) {
  EXPECT_TRUE(FindChangePoints(std::vector<double>(50, 3.0)).empty());
}

TEST(ChangePoints, OneOutlierIsNoChange) {
  std::vector<double> values = Noise(60, 100, 4);
  values[30] = 1e6;
  EXPECT_TRUE(FindChangePoints(values).empty());
}

TEST(ChangePoints, NoiseIsSplitNoOftenerThanAlphaSays) {
  int split = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    split +=
        FindChangePoints(Noise(40, 0, 100 + seed), {.alpha = 0.05, .resamples = 199})
                .empty()
            ? 0
            : 1;
  }
  // Binomial(200, 0.05): P(K > 20) = 0.0008.
  EXPECT_LE(split, 20);
}

TEST(ChangePoints, TooShortOrNotFiniteSeriesHaveNone) {
  EXPECT_TRUE(FindChangePoints(std::vector<double>{1, 1, 1, 1, 9, 9, 9, 9, 9}).empty());
  std::vector<double> values(20, 1.0);
  values[15] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(FindChangePoints(values).empty());
  EXPECT_TRUE(FindChangePoints({}).empty());
}

TEST(ChangePoints, SmallChangesCanBeLeftOut) {
  std::vector<double> values(20, 100.0);
  Append(values, std::vector<double>(20, 101.0));
  EXPECT_EQ(FindChangePoints(values).size(), 1u);
  EXPECT_TRUE(FindChangePoints(values, {.min_relative_change = 0.02}).empty());
}

TEST(ChangePoints, ALongSeriesIsSearchedInBlocks) {
  std::vector<double> values(30'000, 1.0);
  Append(values, std::vector<double>(30'000, 2.0));
  const auto points = FindChangePoints(values, {.resamples = 99});
  ASSERT_EQ(points.size(), 1u);
  EXPECT_EQ(points[0].index, 30'000u);  // blocks of three end there
}

}  // namespace
}  // namespace stepslack::stats

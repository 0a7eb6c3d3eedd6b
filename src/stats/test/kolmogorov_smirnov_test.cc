#include "stepslack/stats/kolmogorov_smirnov.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "stepslack/base/random.h"
#include "stepslack/stats/anderson_darling.h"
#include "stepslack/stats/cramer_von_mises.h"

namespace stepslack::stats {
namespace {

using Values = std::vector<double>;
constexpr double kTight = 1e-12;

TEST(KsDistance, IsTheLargestGapOfTheStepFunctions) {
  EXPECT_NEAR(KsDistance(Values{1, 2}, Values{3, 4}), 1, kTight);
  EXPECT_NEAR(KsDistance(Values{1, 3}, Values{2, 4}), 0.5, kTight);
  EXPECT_NEAR(KsDistance(Values{1, 1}, Values{1, 2}), 0.5, kTight);
  EXPECT_TRUE(std::isnan(KsDistance({}, Values{1})));
  EXPECT_TRUE(std::isnan(KsDistance(Values{NAN}, Values{1})));
}

TEST(KsExactP, CountsLatticePaths) {
  // Of the C(4, 2) = 6 orders of two and two values, two are separated.
  EXPECT_NEAR(KsExactP(1, 2, 2), 2.0 / 6, kTight);
  EXPECT_NEAR(KsExactP(0.5, 2, 2), 1, kTight);
  EXPECT_NEAR(KsExactP(1, 3, 5), 2.0 / 56, kTight);
  EXPECT_TRUE(std::isnan(KsExactP(1.5, 2, 2)));
}

TEST(KsTest, GivenTiesCountsOnlyWhatCanBeSeen) {
  // Pooled 1 1 1 2: which sample holds the 2 is all that can be seen, so D is 1/2
  // always.
  const auto test = KsTest(Values{1, 1}, Values{1, 2});
  EXPECT_NEAR(*test.p, 1, kTight);
  EXPECT_EQ(test.method, "Kolmogorov-Smirnov D = max |F - G|, exact given the ties");
  EXPECT_NEAR(*KsTest(Values{1, 1}, Values{1, 1}).p, 1, kTight);
}

TEST(KolmogorovUpperTail, AgreesWithItsTableAndWithItselfWhereSeriesMeet) {
  EXPECT_NEAR(KolmogorovUpperTail(1.3580986393225505), 0.05, 1e-9);
  EXPECT_NEAR(KolmogorovUpperTail(1 - 1e-12), KolmogorovUpperTail(1 + 1e-12), 1e-11);
  EXPECT_EQ(KolmogorovUpperTail(0), 1);
}

TEST(KsOneSampleP, IsExactForOneAndTwoValues) {
  // n = 1: P(D >= d) = 2 (1 - d) for d >= 1/2. n = 2, d >= 1/2: 2 (1 - d)^2.
  EXPECT_NEAR(KsOneSampleP(0.75, 1), 0.5, kTight);
  EXPECT_NEAR(KsOneSampleP(0.75, 2), 2 * 0.0625, kTight);
  // The tail formula (from 141 on) continues the matrix; one value more is worth 6 %.
  EXPECT_NEAR(KsOneSampleP(0.17, 141) / KsOneSampleP(0.17, 140), 0.944, 0.01);
  EXPECT_NEAR(KsOneSampleP(1.36 / std::sqrt(501.0), 501), 0.0495, 0.002);
}

TEST(CramerVonMises, IsExactForSeparatedPairs) {
  // x below y, two each: F - G at the pooled values is 1/2, 1, 1/2, 0: T = 4/16 * 1.5.
  const auto test = CramerVonMisesTest(Values{1, 2}, Values{3, 4});
  EXPECT_NEAR(*test.statistic, 0.375, kTight);
  EXPECT_NEAR(*test.p, 2.0 / 6, kTight);
  EXPECT_TRUE(test.exact);
}

TEST(CramerVonMises, LimitMeetsItsTable) {
  // Anderson and Darling 1952: 5 % at 0.46136, 1 % at 0.74346.
  EXPECT_NEAR(CramerVonMisesLimitP(0.46136), 0.05, 1e-5);
  EXPECT_NEAR(CramerVonMisesLimitP(0.74346), 0.01, 1e-5);
  EXPECT_EQ(CramerVonMisesLimitP(0), 1);
}

TEST(CramerVonMises, FallsBackToTheLimitWithTiesAndManyValues) {
  base::Random random(3);
  Values x;
  Values y;
  for (int i = 0; i < 200; ++i) {
    x.push_back(random.Normal());
    y.push_back(random.Normal() + 1);
  }
  const auto test = CramerVonMisesTest(x, y);
  EXPECT_FALSE(test.exact);
  EXPECT_LT(*test.p, 1e-6);
  EXPECT_FALSE(CramerVonMisesTest(Values{1, 1}, Values{1, 2}).exact);
}

TEST(AndersonDarling, EnumeratesSplitsAndRefusesConstantSamples) {
  const auto test = AndersonDarlingTest(Values{1, 2, 3}, Values{4, 5, 6});
  EXPECT_NEAR(*test.p, 2.0 / 20, kTight);  // this split and its mirror are the largest
  EXPECT_EQ(AndersonDarlingTest(Values{1, 1}, Values{1, 1}).method,
            "all values are equal");
  EXPECT_FALSE(AndersonDarlingTest(Values{1}, Values{2, 3}).p.has_value());
}

TEST(AndersonDarling, DoesNotDependOnWhichSampleIsFirst) {
  const Values x = {1, 2, 2, 5, 9};
  const Values y = {2, 3, 7, 8};
  EXPECT_NEAR(AndersonDarlingStatistic(x, y), AndersonDarlingStatistic(y, x), 1e-10);
}

}  // namespace
}  // namespace stepslack::stats

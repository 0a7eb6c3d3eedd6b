#include "stepslack/stats/exact_tests.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace stepslack::stats {
namespace {

using Values = std::vector<double>;
constexpr double kTight = 1e-12;

TEST(PermutationTest, CountsTheTwoExtremeSplitsOfTwenty) {
  const auto r = PermutationTest(Values{1, 2, 3}, Values{4, 5, 6});
  EXPECT_NEAR(*r.statistic, -3, kTight);
  EXPECT_NEAR(*r.p, 0.1, kTight);
  EXPECT_EQ(r.arrangements, 20);
  EXPECT_TRUE(r.exact);
  EXPECT_FALSE(r.p_error.has_value());
}

TEST(PermutationTest, EnumeratesTenAgainstTen) {
  Values x;
  Values y;
  for (int i = 0; i < 10; ++i) {
    x.push_back(i);
    y.push_back(i + 0.5);
  }
  const auto r = PermutationTest(x, y);
  EXPECT_TRUE(r.exact);
  EXPECT_EQ(r.arrangements, 184756);
}

TEST(PermutationTest, MonteCarloAgreesWithEnumeration) {
  const Values x = {1.0, 2.5, 3.1, 4.9, 2.2};
  const Values y = {2.8, 3.9, 5.2, 4.4, 6.0};
  const auto exact = PermutationTest(x, y);
  PermutationOptions options;
  options.max_enumerated = 10;
  const auto drawn = PermutationTest(x, y, options);
  EXPECT_FALSE(drawn.exact);
  EXPECT_EQ(drawn.arrangements, options.resamples);
  // Four standard errors: a wrong sampler is far outside.
  EXPECT_NEAR(*drawn.p, *exact.p, 4 * *drawn.p_error);
  EXPECT_LT(*drawn.p_error, 0.005);
  EXPECT_EQ(*drawn.p, *PermutationTest(x, y, options).p);
}

TEST(PermutationTest, RefusesEmptyAndNonFiniteSamples) {
  EXPECT_FALSE(PermutationTest({}, Values{1}).p.has_value());
  EXPECT_FALSE(
      PermutationTest(Values{std::numeric_limits<double>::infinity()}, Values{1})
          .p.has_value());
}

RC_GTEST_PROP(PermutationTest, IsSymmetricInTheSamples, ()) {
  const auto count = *rc::gen::inRange<size_t>(1, 6);
  const auto a = *rc::gen::container<std::vector<int>>(count, rc::gen::inRange(0, 20));
  const auto b =
      *rc::gen::container<std::vector<int>>(size_t{4}, rc::gen::inRange(0, 20));
  const Values x(a.begin(), a.end());
  const Values y(b.begin(), b.end());
  RC_ASSERT(*PermutationTest(x, y).p == *PermutationTest(y, x).p);
}

TEST(MonteCarloP, IsNeverZero) { EXPECT_NEAR(MonteCarloP(0, 999), 0.001, kTight); }

TEST(SignFlipTest, CountsTwoOfEightPatterns) {
  const auto r = SignFlipTest(Values{1, 2, 3});
  EXPECT_NEAR(*r.p, 0.25, kTight);
  EXPECT_EQ(r.arrangements, 8);
  EXPECT_NEAR(*r.statistic, 2, kTight);
}

TEST(SignFlipTest, MonteCarloAgreesWithTheNormalLimit) {
  // 100 differences of +1 and -1 in ratio 60 to 40: |sum| >= 20 has the binomial
  // probability P(B >= 60 or B <= 40) = 0.0568879.
  Values d(100, 1.0);
  for (size_t i = 0; i < 40; ++i) d[i] = -1;
  const auto r = SignFlipTest(d);
  EXPECT_FALSE(r.exact);
  EXPECT_NEAR(*r.p, 0.0568879, 4 * *r.p_error);
}

TEST(MannWhitney, MatchesTwoAgainstTwo) {
  const auto r = MannWhitney(Values{1, 2}, Values{3, 4});
  EXPECT_EQ(r.u, 0);
  EXPECT_NEAR(*r.p_exact, 2.0 / 6, kTight);
  EXPECT_FALSE(r.ties);
}

TEST(MannWhitney, IsExactGivenTies) {
  // Midranks 1, 2.5, 2.5, 4: two of six subsets reach the rank sum 3.5 or less.
  const auto r = MannWhitney(Values{1, 2}, Values{2, 3});
  EXPECT_NEAR(*r.u, 0.5, kTight);
  EXPECT_NEAR(*r.p_exact, 4.0 / 6, kTight);
  EXPECT_TRUE(r.ties);
  EXPECT_EQ(r.method, "Mann-Whitney U, exact given the ties");
}

TEST(MannWhitney, LeavesLargeSamplesToTheNormalApproximation) {
  Values x(400);
  Values y(400);
  for (size_t i = 0; i < 400; ++i) {
    x[i] = static_cast<double>(i);
    y[i] = static_cast<double>(i) + 0.5;
  }
  const auto r = MannWhitney(x, y);
  EXPECT_FALSE(r.p_exact.has_value());
  // x below y by half a rank: U = mn/2 - 200, sigma = 4621.69.
  EXPECT_NEAR(*r.u, 80000 - 200, kTight);
  EXPECT_NEAR(*r.p_asymptotic,
              std::erfc(199.5 / std::sqrt(160000.0 * 801 / 12) / std::sqrt(2.0)), 1e-9);
}

RC_GTEST_PROP(MannWhitney, ComplementsWhenSamplesSwap, ()) {
  const auto count = *rc::gen::inRange<size_t>(1, 8);
  const auto a = *rc::gen::container<std::vector<int>>(count, rc::gen::inRange(0, 9));
  const auto b =
      *rc::gen::container<std::vector<int>>(size_t{5}, rc::gen::inRange(0, 9));
  const Values x(a.begin(), a.end());
  const Values y(b.begin(), b.end());
  const auto forth = MannWhitney(x, y);
  const auto back = MannWhitney(y, x);
  RC_ASSERT(*forth.u + *back.u == static_cast<double>(count * 5));
  RC_ASSERT(std::fabs(*forth.p_exact - *back.p_exact) < 1e-12);
}

TEST(HodgesLehmannShift, IsTheMedianDifferenceWithExactLimits) {
  // Differences of {1,2,3} and {4,5,6}: -5 to -1, median -3. P(U = 0) = 1/20, so the
  // full range covers 90 %.
  const auto e =
      HodgesLehmannShift(Values{1, 2, 3}, Values{4, 5, 6}, "s", "runs", 0.85);
  EXPECT_EQ(e.value, -3);
  EXPECT_EQ(e.low, -5);
  EXPECT_EQ(e.high, -1);
  EXPECT_EQ(e.method, "Hodges-Lehmann shift, exact interval covering 90.0 %");
}

TEST(HodgesLehmannShift, RefusesALevelThatThreeRunsCannotReach) {
  const auto e = HodgesLehmannShift(Values{1, 2, 3}, Values{4, 5, 6}, "s", "runs");
  EXPECT_EQ(e.value, -3);
  EXPECT_FALSE(e.low.has_value());
  EXPECT_EQ(e.method,
            "Hodges-Lehmann shift; the widest exact interval covers 90.0 % only");
}

TEST(WelchTest, MatchesHandWorkedValues) {
  const auto r = WelchTest(Values{1, 2, 3}, Values{2, 4, 6}, "s", "runs");
  EXPECT_NEAR(*r.difference.value, -2, kTight);
  EXPECT_NEAR(*r.t, -2 / std::sqrt(5.0 / 3), kTight);
  EXPECT_NEAR(*r.degrees, 50.0 / 17, kTight);
  EXPECT_NEAR(*r.cohen_d, -2 / std::sqrt(2.5), kTight);
  // Interval and p agree: a level of 1 - p just touches zero.
  const auto touch = WelchTest(Values{1, 2, 3}, Values{2, 4, 6}, "s", "runs", 1 - *r.p);
  EXPECT_NEAR(*touch.difference.high, 0, 1e-9);
}

TEST(WelchTest, HasNoPWithoutVariation) {
  const auto r = WelchTest(Values{1, 1}, Values{1, 1}, "s", "runs");
  EXPECT_FALSE(r.p.has_value());
  EXPECT_EQ(r.difference.value, 0);
  EXPECT_FALSE(WelchTest(Values{1}, Values{1, 2}, "s", "runs").p.has_value());
}

}  // namespace
}  // namespace stepslack::stats

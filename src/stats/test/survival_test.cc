#include "stepslack/stats/survival.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace stepslack::stats {
namespace {

using Durations = std::vector<Duration>;
constexpr double kTight = 1e-12;
const Durations kFour = {{1, true}, {2, false}, {3, true}, {4, false}};

TEST(KaplanMeier, DropsCensoredRunsFromTheRiskSet) {
  const auto curve = KaplanMeier(kFour);
  ASSERT_EQ(curve.steps.size(), 2U);
  EXPECT_NEAR(curve.steps[0].survival, 0.75, kTight);
  EXPECT_EQ(curve.steps[1].at_risk, 2);
  EXPECT_NEAR(curve.steps[1].survival, 0.375, kTight);
  // Greenwood: 1/(4*3) + 1/(2*1) = 7/12.
  EXPECT_NEAR(curve.steps[1].standard_error, 0.375 * std::sqrt(7.0 / 12), kTight);
}

TEST(KaplanMeier, KeepsARunCensoredAtAnEventTimeAtRiskThere) {
  const auto curve = KaplanMeier(Durations{{2, false}, {2, true}});
  ASSERT_EQ(curve.steps.size(), 1U);
  EXPECT_EQ(curve.steps[0].at_risk, 2);
}

TEST(KaplanMeier, LeavesOutTimesThatAreNotUsable) {
  const auto curve = KaplanMeier(Durations{
      {std::numeric_limits<double>::quiet_NaN(), true}, {-1, true}, {5, true}});
  EXPECT_EQ(curve.n, 1);
  EXPECT_EQ(KaplanMeier({}).n, 0);
}

TEST(MedianTime, IsTheFirstTimeAtOrBelowOneHalf) {
  EXPECT_EQ(MedianTime(kFour, "s", "runs").value, 3);
  // Exactly one half after the second of four: the midpoint, as for a plain median.
  const Durations all = {{1, true}, {2, true}, {3, true}, {4, true}};
  EXPECT_NEAR(*MedianTime(all, "s", "runs").value, 2.5, kTight);
}

TEST(MedianTime, IsAbsentWhenFewerThanHalfArrived) {
  const auto e = MedianTime(Durations{{1, true}, {9, false}, {9, false}}, "s", "runs");
  EXPECT_FALSE(e.value.has_value());
  EXPECT_EQ(e.method, "median not reached: 1 of 3 arrived");
  EXPECT_EQ(MedianTime({}, "s", "runs").method, "median not reached: 0 of 0 arrived");
}

TEST(MedianTime, HasNoUpperBoundForThreeRuns) {
  const auto e = MedianTime(Durations{{1, true}, {2, true}, {3, true}}, "s", "runs");
  EXPECT_EQ(e.value, 2);
  EXPECT_EQ(e.low, 1);
  EXPECT_FALSE(e.high.has_value());
}

TEST(RestrictedMeanTime, IsTheAreaUnderTheCurve) {
  // 1 * 1 + 0.75 * 2 + 0.375 * 1.
  EXPECT_NEAR(*RestrictedMeanTime(kFour, 4, "s", "runs").value, 2.875, kTight);
  // Up to 3: 2.5, variance (0.75 * 2)^2 / 12, three degrees of freedom.
  const auto e = RestrictedMeanTime(kFour, 3, "s", "runs");
  EXPECT_NEAR(*e.value, 2.5, kTight);
  const double half = 3.182446305284263 * 1.5 / std::sqrt(12.0);
  EXPECT_NEAR(*e.low, 2.5 - half, 1e-9);
  EXPECT_NEAR(*e.high, 3, kTight);  // cut at the horizon
}

TEST(RestrictedMeanTime, IsATIntervalWithoutEarlyCensoring) {
  const auto e =
      RestrictedMeanTime(Durations{{1, true}, {2, true}, {9, false}}, 3, "s", "runs");
  EXPECT_NEAR(*e.value, 2, kTight);  // {1, 2, 3}
  EXPECT_NEAR(*e.low, 2 - 4.302652729911275 / std::sqrt(3.0), 1e-9);
}

TEST(RestrictedMeanTime, IsUnknownBeyondTheLastObservation) {
  const auto e = RestrictedMeanTime(kFour, 5, "s", "runs");
  EXPECT_FALSE(e.value.has_value());
  EXPECT_EQ(e.method, "the horizon lies beyond the last observation");
  EXPECT_FALSE(RestrictedMeanTime(kFour, NAN, "s", "runs").value.has_value());
}

TEST(LogRankTest, MatchesHandWorkedPair) {
  // a: 1, 3; b: 2, 4, all arrive. Expected for a: 2/4 + 1/3 + 1/2 = 4/3, variance
  // 1/4 + 2/9 + 1/4 = 13/18.
  const auto r =
      LogRankTest(Durations{{1, true}, {3, true}}, Durations{{2, true}, {4, true}});
  EXPECT_NEAR(*r.statistic, (2 - 4.0 / 3) * (2 - 4.0 / 3) / (13.0 / 18), kTight);
  EXPECT_FALSE(LogRankTest({}, kFour).p.has_value());
}

}  // namespace
}  // namespace stepslack::stats

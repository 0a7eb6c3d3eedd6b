#include "stepslack/stats/intervals.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace stepslack::stats {
namespace {

// t(0.975) with 2 degrees of freedom over sqrt(3): half width for {1, 2, 3}.
constexpr double kHalfWidth = 4.302652729911275 / 1.7320508075688772;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kTight = 1e-9;

TEST(MeanInterval, UsesStudentTOfThreeValues) {
  const auto e = MeanInterval(std::vector<double>{1, 2, 3}, "s", "runs");
  EXPECT_NEAR(*e.value, 2, kTight);
  EXPECT_NEAR(*e.low, 2 - kHalfWidth, kTight);
  EXPECT_NEAR(*e.high, 2 + kHalfWidth, kTight);
  EXPECT_EQ(e.n, 3);
  EXPECT_EQ(e.unit, "s");
  EXPECT_EQ(e.n_of, "runs");
}

TEST(MeanInterval, GivesNoIntervalForOneValueAndNothingForNone) {
  const auto one = MeanInterval(std::vector<double>{4}, "s", "runs");
  EXPECT_EQ(one.value, 4);
  EXPECT_FALSE(one.low.has_value());
  const auto none = MeanInterval({}, "s", "runs");
  EXPECT_FALSE(none.value.has_value());
  EXPECT_EQ(none.method, "no values");
}

TEST(MeanInterval, RefusesValuesThatAreNotFinite) {
  const auto e = MeanInterval(std::vector<double>{1, kNan}, "s", "runs");
  EXPECT_FALSE(e.value.has_value());
  EXPECT_EQ(e.method, "a value is not finite");
  const auto huge = MeanInterval(std::vector<double>{1.7e308, 1.7e308}, "s", "runs");
  EXPECT_FALSE(huge.value.has_value());
}

TEST(MeanInterval, RefusesAConfidenceOfOne) {
  EXPECT_FALSE(
      MeanInterval(std::vector<double>{1, 2}, "s", "runs", 1.0).value.has_value());
}

RC_GTEST_PROP(MeanInterval, MovesAndScalesWithTheData, ()) {
  const auto count = *rc::gen::inRange<size_t>(2, 10);
  const auto ints =
      *rc::gen::container<std::vector<int>>(count, rc::gen::inRange(-100, 100));
  std::vector<double> values(ints.begin(), ints.end());
  std::vector<double> moved;
  for (double v : values) moved.push_back(3 * v + 7);
  const auto a = MeanInterval(values, "s", "runs");
  const auto b = MeanInterval(moved, "s", "runs");
  RC_ASSERT(std::fabs(*b.low - (3 * *a.low + 7)) < 1e-6);
  RC_ASSERT(std::fabs(*b.high - (3 * *a.high + 7)) < 1e-6);
}

TEST(PairedMeanDifference, WorksOnDifferences) {
  const auto e = PairedMeanDifference(std::vector<double>{11, 22, 33},
                                      std::vector<double>{10, 20, 30}, "s", "pairs");
  EXPECT_NEAR(*e.value, 2, kTight);
  EXPECT_NEAR(*e.high, 2 + kHalfWidth, kTight);
  EXPECT_FALSE(
      PairedMeanDifference(std::vector<double>{1}, {}, "s", "pairs").value.has_value());
}

TEST(GeometricMeanInterval, IsTheTIntervalOfLogs) {
  const std::vector<double> values = {1, std::exp(1.0), std::exp(2.0)};
  // Logs are 0, 1, 2: the interval of {1, 2, 3} shifted by one.
  const auto e = GeometricMeanInterval(values, "1", "runs");
  EXPECT_NEAR(std::log(*e.value), 1, kTight);
  EXPECT_NEAR(std::log(*e.low), 1 - kHalfWidth, kTight);
  EXPECT_NEAR(std::log(*e.high), 1 + kHalfWidth, kTight);
  EXPECT_FALSE(
      GeometricMeanInterval(std::vector<double>{1, 0}, "1", "runs").value.has_value());
}

TEST(LogRatioInterval, MatchesHandWorkedWelchOnLogs) {
  // Logs of a are ln2 and 3 ln2, of b zero: difference 2 ln2, error ln2, 1 degree.
  const auto e =
      LogRatioInterval(std::vector<double>{2, 8}, std::vector<double>{1, 1}, "runs");
  const double reach = 12.706204736174698;
  EXPECT_NEAR(*e.value, 4, kTight);
  EXPECT_NEAR(std::log2(*e.low), 2 - reach, kTight);
  EXPECT_NEAR(std::log2(*e.high), 2 + reach, kTight);
  EXPECT_EQ(e.n, 4);
}

TEST(LogRatioInterval, HasNoIntervalWithOneValueASide) {
  const auto e =
      LogRatioInterval(std::vector<double>{3}, std::vector<double>{1.5}, "runs");
  EXPECT_NEAR(*e.value, 2, kTight);
  EXPECT_FALSE(e.low.has_value());
  EXPECT_FALSE(LogRatioInterval({}, std::vector<double>{1}, "runs").value.has_value());
  EXPECT_FALSE(
      LogRatioInterval(std::vector<double>{-1, 1}, std::vector<double>{1, 1}, "runs")
          .value.has_value());
}

TEST(PairedLogRatioInterval, MatchesHandWorkedValue) {
  const auto e = PairedLogRatioInterval(std::vector<double>{2, 4, 8},
                                        std::vector<double>{1, 1, 1}, "pairs");
  EXPECT_NEAR(*e.value, 4, kTight);
  EXPECT_NEAR(std::log2(*e.low), 2 - kHalfWidth, kTight);
  EXPECT_NEAR(std::log2(*e.high), 2 + kHalfWidth, kTight);
}

TEST(Proportions, AtZeroOfTenHaveClosedForms) {
  const double z2 = 3.841458820694124;
  const auto wilson = WilsonInterval(0, 10, "maps");
  EXPECT_EQ(wilson.low, 0);
  EXPECT_NEAR(*wilson.high, z2 / (10 + z2), kTight);
  const auto exact = ClopperPearsonInterval(0, 10, "maps");
  EXPECT_EQ(exact.low, 0);
  EXPECT_NEAR(*exact.high, 1 - std::pow(0.025, 0.1), kTight);
}

TEST(Proportions, AtTenOfTenMirrorZeroOfTen) {
  EXPECT_NEAR(*WilsonInterval(10, 10, "maps").low,
              1 - *WilsonInterval(0, 10, "maps").high, kTight);
  EXPECT_NEAR(*ClopperPearsonInterval(10, 10, "maps").low, std::pow(0.025, 0.1),
              kTight);
  EXPECT_EQ(ClopperPearsonInterval(10, 10, "maps").high, 1);
}

TEST(Proportions, RefuseImpossibleCounts) {
  EXPECT_FALSE(WilsonInterval(3, 2, "maps").value.has_value());
  EXPECT_FALSE(ClopperPearsonInterval(-1, 2, "maps").value.has_value());
  EXPECT_EQ(WilsonInterval(0, 0, "maps").method, "no trials");
}

TEST(BinomialTwoSidedP, AddsOutcomesThatAreNotMoreLikely) {
  EXPECT_NEAR(BinomialTwoSidedP(0, 5, 0.5), 2.0 / 32, kTight);
  EXPECT_NEAR(BinomialTwoSidedP(5, 5, 0.5), 2.0 / 32, kTight);
  EXPECT_NEAR(BinomialTwoSidedP(2, 4, 0.5), 1, kTight);
  // Binomial(4, 1/4) in 256ths: 81 108 54 12 1.
  EXPECT_NEAR(BinomialTwoSidedP(3, 4, 0.25), 13.0 / 256, kTight);
  EXPECT_NEAR(BinomialTwoSidedP(0, 4, 0.25), 148.0 / 256, kTight);
  EXPECT_TRUE(std::isnan(BinomialTwoSidedP(5, 4, 0.25)));
}

RC_GTEST_PROP(BinomialTwoSidedP, EqualsTheBruteForceSum, ()) {
  const int n = *rc::gen::inRange(1, 25);
  const int k = *rc::gen::inRange(0, n + 1);
  const double p0 = *rc::gen::inRange(1, 100) / 100.0;
  const auto pmf = [&](int i) {
    return std::exp(std::lgamma(n + 1) - std::lgamma(i + 1) - std::lgamma(n - i + 1) +
                    i * std::log(p0) + (n - i) * std::log(1 - p0));
  };
  double sum = 0;
  for (int i = 0; i <= n; ++i) {
    if (pmf(i) <= pmf(k) * (1 + 1e-7)) sum += pmf(i);
  }
  RC_ASSERT(std::fabs(BinomialTwoSidedP(k, n, p0) - std::min(1.0, sum)) < 1e-9);
}

TEST(MedianInterval, TakesOrderStatisticsTwoAndNineOfTen) {
  const auto e =
      MedianInterval(std::vector<double>{10, 1, 9, 2, 8, 3, 7, 4, 6, 5}, "s", "steps");
  EXPECT_NEAR(*e.value, 5.5, kTight);
  EXPECT_EQ(e.low, 2);
  EXPECT_EQ(e.high, 9);
  // 1 - 2 * 11 / 1024.
  EXPECT_EQ(e.method, "order statistics 2 and 9, covering 97.9 %");
}

TEST(MedianInterval, SaysThatFiveValuesCannotReachTheLevel) {
  const auto e = MedianInterval(std::vector<double>{1, 2, 3, 4, 5}, "s", "steps");
  EXPECT_EQ(e.value, 3);
  EXPECT_FALSE(e.low.has_value());
  EXPECT_EQ(e.method, "median; the range of 5 values covers it with 93.8 % only");
}

}  // namespace
}  // namespace stepslack::stats

#include "stepslack/stats/aggregate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "stepslack/base/random.h"
#include "stepslack/stats/block_bootstrap.h"
#include "stepslack/stats/energy_split.h"
#include "stepslack/stats/multiple.h"
#include "stepslack/stats/paired_tests.h"

namespace stepslack::stats {
namespace {

using Values = std::vector<double>;
constexpr double kTight = 1e-12;

TEST(TrimmedMean, CutsWholeValuesOffBothEnds) {
  EXPECT_NEAR(InterquartileMean(Values{100, 1, 2, -50}), 1.5, kTight);
  EXPECT_NEAR(InterquartileMean(Values{3, 1, 8}), 4, kTight);  // 0.75 values: none
  EXPECT_TRUE(std::isnan(TrimmedMean(Values{1}, 0.5)));
  EXPECT_TRUE(std::isnan(InterquartileMean({})));
}

TEST(StratifiedBootstrap, DrawsWithinStrataOnly) {
  // Strata without spread: whatever is drawn, the pooled mean stays 2.
  const Strata strata = {{1, 1, 1}, {3, 3, 3}};
  const auto e = StratifiedBootstrap(
      strata,
      [](const Strata& s) { return (s[0][0] + s[0][2] + s[1][0] + s[1][1]) / 4; }, "1",
      "runs");
  EXPECT_EQ(e.value, 2);
  EXPECT_EQ(e.low, 2);
  EXPECT_EQ(e.high, 2);
  EXPECT_EQ(e.n, 6);
  EXPECT_EQ(e.method, "stratified bootstrap, percentile, 2000 resamples, seed 1");
}

TEST(StratifiedBootstrap, HasNoIntervalFromOneRunAStratum) {
  const auto e = InterquartileMeanEstimate({{1}, {2}, {3}}, "1");
  EXPECT_TRUE(e.value.has_value());
  EXPECT_FALSE(e.low.has_value());
  EXPECT_FALSE(InterquartileMeanEstimate({{1}, {}}, "1").value.has_value());
}

TEST(ProbabilityOfImprovement, AveragesOverTasks) {
  const auto e = ProbabilityOfImprovement({{1, 2}, {5, 5}}, {{3, 4}, {5, 5}});
  EXPECT_NEAR(*e.value, 0.75, kTight);  // 1 on the first task, 1/2 on the second
  EXPECT_FALSE(ProbabilityOfImprovement({{1}}, {}).value.has_value());
}

TEST(SignedRankTest, IsExactByHand) {
  // All four positive: P(W+ >= 10) = 1/16, two-sided 1/8.
  EXPECT_NEAR(*SignedRankTest(Values{1, 2, 3, 4}).p, 0.125, kTight);
  const auto ties = SignedRankTest(Values{1, 1, -1, 0});
  EXPECT_EQ(ties.zeros, 1);
  EXPECT_NEAR(*ties.w, 2, kTight);  // midranks 2 2 2
  EXPECT_NEAR(*ties.p, 1, kTight);  // four of eight patterns have W+ >= 4
  EXPECT_FALSE(SignedRankTest(Values{0, 0}).p.has_value());
}

TEST(PairedTTest, IsExactByHand) {
  // Mean 2, deviation 1, n = 3: t = 2 sqrt(3); with two degrees p = 1 - t / sqrt(t^2 +
  // 2).
  const auto test = PairedTTest(Values{1, 2, 3});
  EXPECT_NEAR(*test.statistic, 2 * std::sqrt(3), kTight);
  EXPECT_NEAR(*test.p, 1 - std::sqrt(12.0 / 14), 1e-10);
  EXPECT_FALSE(PairedTTest(Values{1, 1}).p.has_value());
}

TEST(HochbergAdjust, StepsUpAndBenjaminiYekutieliPaysTheHarmonicSum) {
  EXPECT_EQ(HochbergAdjust(Values{0.04, 0.04}), (Values{0.04, 0.04}));
  EXPECT_NEAR(BenjaminiYekutieliAdjust(Values{0.01, 0.5})[0], 0.01 * 2 * 1.5, kTight);
}

Values Autoregressive(double phi, int count, uint64_t seed) {
  base::Random random(seed);
  Values series;
  double value = random.Normal() / std::sqrt(1 - phi * phi);
  for (int i = 0; i < count; ++i) {
    series.push_back(value);
    value = phi * value + random.Normal();
  }
  return series;
}

TEST(EffectiveSampleSize, IsTheClosedFormOfAnAutoregressiveSeries) {
  // n (1 - phi) / (1 + phi): a third at phi = 0.5; noise of a few percent at 20,000.
  const double share = EffectiveSampleSize(Autoregressive(0.5, 20'000, 2)) / 20'000;
  EXPECT_NEAR(share, 1.0 / 3, 0.04);
  EXPECT_EQ(EffectiveSampleSize(Values{1, 1, 1, 1, 1}), 5);
}

TEST(BlockBootstrap, WidensTheIntervalOfCorrelatedSteps) {
  const Values series = Autoregressive(0.8, 2000, 3);
  const auto width = [&](int64_t block) {
    const auto e = BlockBootstrapMean(series, "ms", "steps", {.block = block});
    return *e.high - *e.low;
  };
  // The true deviation of the mean is sqrt((1 + phi) / (1 - phi)) = 3 times that of
  // independent values with the same spread.
  EXPECT_NEAR(width(0) / width(1), 3, 0.75);
  EXPECT_GT(AutomaticBlock(series), 10);
  EXPECT_LE(AutomaticBlock(Autoregressive(0, 2000, 4)), 3);
}

TEST(BlockBootstrap, CoversTheMeanOfCorrelatedSteps) {
  // 200 series of 400 steps, phi 0.6, true mean 0: standard error 1.5 %. Single values
  // would cover near 0.68.
  int covered = 0;
  for (uint64_t s = 0; s < 200; ++s) {
    const auto e = BlockBootstrapMean(Autoregressive(0.6, 400, 100 + s), "ms", "steps",
                                      {.resamples = 300});
    covered += *e.low <= 0 && *e.high >= 0 ? 1 : 0;
  }
  EXPECT_GE(covered, 174);
}

TEST(BlockBootstrap, SaysWhyThereIsNoInterval) {
  const auto few = BlockBootstrapMean(Values{1, 2, 3}, "ms", "steps");
  EXPECT_EQ(few.value, 2);
  EXPECT_FALSE(few.low.has_value());
  EXPECT_EQ(BlockBootstrapMean({}, "ms", "steps").method, "no values");
}

TEST(FindEnergySplit, IsExactByHandForFourValues) {
  // 0 0 | 3 3: Q = (2 * 2 / 4)(2 * 3 - 0 - 0) = 6.
  const auto split = FindEnergySplit(Values{0, 0, 3, 3});
  EXPECT_EQ(split->index, 2U);
  EXPECT_NEAR(split->q, 6, kTight);
  EXPECT_FALSE(FindEnergySplit(Values{1, 2, 3}).has_value());
  EXPECT_EQ(CusumSplit(Values{0, 0, 3}), 2U);
}

TEST(FindEnergyChangePoints, SeesAChangeOfSpreadAndNoneInNoise) {
  base::Random random(11);
  Values series;
  for (int i = 0; i < 80; ++i) series.push_back(random.Normal() * (i < 40 ? 1 : 8));
  const auto found = FindEnergyChangePoints(series, {.alpha = 0.01});
  ASSERT_EQ(found.points.size(), 1U);
  EXPECT_NEAR(static_cast<double>(found.points[0].index), 40, 6);
  EXPECT_NEAR(found.points[0].p, 1.0 / 200, kTight);
  const std::span<const double> quiet(series);
  EXPECT_TRUE(FindEnergyChangePoints(quiet.first(40), {.alpha = 0.01}).points.empty());
}

}  // namespace
}  // namespace stepslack::stats

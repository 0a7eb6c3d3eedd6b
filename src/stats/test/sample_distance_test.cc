#include "stepslack/stats/sample_distance.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "split_permutation.h"
#include "stepslack/stats/contingency.h"
#include "stepslack/stats/histogram_distance.h"
#include "stepslack/stats/kernel_mmd.h"
#include "stepslack/stats/rank_measures.h"

namespace stepslack::stats {
namespace {

using Values = std::vector<double>;
constexpr double kTight = 1e-12;

TEST(Wasserstein1, IsTheShiftOfAShiftedSample) {
  EXPECT_NEAR(Wasserstein1(Values{1, 2, 4}, Values{4, 5, 7}), 3, kTight);
  EXPECT_NEAR(Wasserstein1(Values{0, 2}, Values{1}), 1, kTight);
  EXPECT_EQ(Wasserstein1(Values{1, 2}, Values{2, 1}), 0);
  EXPECT_TRUE(std::isnan(Wasserstein1({}, Values{1})));
}

TEST(NormalisedWasserstein1, IsInfiniteForAConstantReference) {
  EXPECT_TRUE(std::isinf(NormalisedWasserstein1(Values{1, 1}, Values{2})));
  EXPECT_NEAR(NormalisedWasserstein1(Values{0, 2}, Values{1, 3}), 1, kTight);
}

TEST(RangeScaledWasserstein1, ShrinksWithAnOutlier) {
  EXPECT_NEAR(RangeScaledWasserstein1(Values{0, 1}, Values{3, 4}), 0.75, kTight);
  EXPECT_LT(RangeScaledWasserstein1(Values{0, 1, 1000}, Values{3, 4, 1000}), 0.003);
  EXPECT_EQ(RangeScaledWasserstein1(Values{1}, Values{1}), 0);
}

TEST(EnergyDistance, IsTwiceTheAreaOfTheSquaredGap) {
  // F - G is 1 on [0, 3]: sqrt(2 * 3).
  EXPECT_NEAR(EnergyDistance(Values{0}, Values{3}), std::sqrt(6), kTight);
}

TEST(EnergyTest, EnumeratesSplits) {
  const auto test = EnergyTest(Values{1, 2, 3}, Values{7, 8, 9});
  EXPECT_NEAR(*test.statistic, EnergyDistance(Values{1, 2, 3}, Values{7, 8, 9}),
              kTight);
  EXPECT_NEAR(*test.p, 2.0 / 20, kTight);
}

TEST(HistogramDistances, AreHandWorkedForTwoBins) {
  const Values p = {1, 3};
  const Values q = {1, 1};
  EXPECT_NEAR(TotalVariation(p, q), 0.25, kTight);
  EXPECT_NEAR(LargestDifference(p, q), 0.25, kTight);
  EXPECT_NEAR(KullbackLeibler(p, q), 0.25 * std::log(0.5) + 0.75 * std::log(1.5),
              kTight);
  EXPECT_NEAR(PopulationStabilityIndex(p, q, EmptyBins::kNone), 0.25 * std::log(3),
              kTight);
  EXPECT_TRUE(std::isinf(KullbackLeibler(Values{1, 1}, Values{1, 0})));
  EXPECT_TRUE(std::isnan(TotalVariation(p, Values{1})));
  EXPECT_TRUE(std::isnan(TotalVariation(p, Values{-1, 2})));
}

TEST(JensenShannon, IsLnTwoForDisjointDistributions) {
  EXPECT_NEAR(JensenShannonDivergence(Values{1, 0}, Values{0, 1}), std::log(2), kTight);
  EXPECT_NEAR(JensenShannonDistance(Values{1, 0}, Values{0, 1}, 2), 1, kTight);
  EXPECT_NEAR(HellingerDistance(Values{1, 0}, Values{0, 1}), 1, kTight);
}

TEST(QuantileEdges, MergesEqualEdges) {
  EXPECT_EQ(QuantileEdges(Values{1, 1, 1, 1, 2}, 4), (Values{1}));
  EXPECT_EQ(CountInBins(Values{0, 1, 2, NAN}, Values{1}), (Values{1, 2}));
  EXPECT_TRUE(QuantileEdges(Values{1, 2}, 1).empty());
}

TEST(ChiSquaredTest, LeavesEmptyRowsAndColumnsOut) {
  // 10 10 / 5 15: expected 7.5 and 12.5, chi2 = 2 * 6.25 (1/7.5 + 1/12.5).
  const auto test = ChiSquaredTest(Values{10, 0, 10, 5, 0, 15, 0, 0, 0}, 3);
  EXPECT_NEAR(*test.chi2, 12.5 / 7.5 + 12.5 / 12.5, kTight);
  EXPECT_EQ(test.degrees, 1);
  EXPECT_NEAR(test.least_expected, 7.5, kTight);
  EXPECT_FALSE(ChiSquaredTest(Values{1, 2, 3}, 2).p.has_value());
  EXPECT_FALSE(ChiSquaredTest(Values{1, 2, 0, 0}, 2).p.has_value());
}

TEST(FisherExactP, IsTheTeaTasting) {
  EXPECT_NEAR(FisherExactP(3, 1, 1, 3), 34.0 / 70, kTight);
  EXPECT_NEAR(FisherExactP(4, 0, 0, 4), 2.0 / 70, kTight);
  EXPECT_NEAR(FisherExactP(0, 0, 0, 0), 1, kTight);
  EXPECT_TRUE(std::isnan(FisherExactP(-1, 0, 0, 0)));
  EXPECT_EQ(FisherExactP(100'000, 0, 0, 100'000), 0);  // below 1e-300, not an overflow
}

TEST(MmdTest, NeedsTwoRowsASideAndOneWidth) {
  const Values x = {0, 0, 1, 1};
  EXPECT_FALSE(MmdTest({x, 2}, {x, 4}).mmd2.has_value());
  EXPECT_FALSE(MmdTest({x, 2}, {x, 1}).mmd2.has_value());
  const Values same = {1, 1};
  EXPECT_EQ(MmdTest({same, 1}, {same, 1}).test.method, "the median distance is zero");
}

TEST(SplitPermutationTest, LimitsItsWorkAndSaysHowMuchWasDone) {
  int64_t calls = 0;
  const auto constant = [&](const std::vector<bool>&) {
    ++calls;
    return 1.0;
  };
  const auto test = SplitPermutationTest(20, 10, constant, {}, 1e9, "costly");
  EXPECT_EQ(test.method, "costly, 99 random splits, seed 1");
  EXPECT_EQ(calls, 100);
  EXPECT_NEAR(*test.p, 1, kTight);
  EXPECT_TRUE(SplitPermutationTest(6, 3, constant, {}, 1, "cheap").exact);
}

TEST(RankCorrelate, IsOneForTheSameOrder) {
  const auto r = RankCorrelate(Values{1, 2, 30}, Values{5, 6, 7});
  EXPECT_NEAR(*r.spearman, 1, kTight);
  EXPECT_NEAR(*r.kendall_tau_b, 1, kTight);
  EXPECT_EQ(r.spearman_p, 0);
  EXPECT_NEAR(*RankCorrelate(Values{1, 2, 3}, Values{1, 3, 2}).kendall_tau_b, 1.0 / 3,
              kTight);
  EXPECT_FALSE(RankCorrelate(Values{1, 1}, Values{1, 2}).spearman.has_value());
}

TEST(DomainClassifierDrift, GivesHalfCreditForTies) {
  EXPECT_NEAR(*DomainClassifierDrift(Values{1, 1}, Values{1, 1}).auc, 0.5, kTight);
  const auto worse = DomainClassifierDrift(Values{2}, Values{1});
  EXPECT_EQ(worse.auc, 0);
  EXPECT_EQ(worse.drift, 0);
}

}  // namespace
}  // namespace stepslack::stats

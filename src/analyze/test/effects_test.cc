#include "stepslack/analyze/effects.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace stepslack::analyze {
namespace {

Effect Compute(std::vector<double> on, std::vector<double> off, double margin = 0,
               base::Direction better = base::Direction::kAtMost) {
  EffectInput input;
  input.option = "augmentation";
  input.metric = "relative MAE";
  input.better = better;
  input.on = std::move(on);
  input.off = std::move(off);
  input.margin = margin;
  auto effect = ComputeEffect(input);
  EXPECT_TRUE(effect.has_value());
  return effect.value_or(Effect{});
}

TEST(Effect, PairsGiveDifferenceRatioAndExactP) {
  const Effect effect = Compute({0.20, 0.22, 0.24}, {0.30, 0.33, 0.36});
  EXPECT_NEAR(*effect.difference.value, -0.11, 1e-12);
  // Differences -0.10, -0.11, -0.12: s = 0.01, t(2) = 4.302653.
  EXPECT_NEAR(*effect.difference.low, -0.11 - 4.302653 * 0.01 / std::sqrt(3.0), 1e-7);
  EXPECT_NEAR(*effect.ratio.value, 2.0 / 3, 1e-12);
  EXPECT_TRUE(effect.p_exact);
  EXPECT_NEAR(*effect.p, 0.25, 1e-12);  // 2 of 8 sign patterns
  EXPECT_NEAR(effect.smallest_p, 0.25, 1e-12);
  EXPECT_EQ(effect.verdict, EffectVerdict::kImproved);
}

TEST(Effect, DirectionDecidesWhatGoodMeans) {
  const std::vector<double> on = {0.20, 0.22, 0.24};
  const std::vector<double> off = {0.30, 0.33, 0.36};
  EXPECT_EQ(Compute(on, off, 0, base::Direction::kAtLeast).verdict,
            EffectVerdict::kRegressed);
  EXPECT_EQ(Compute(off, on).verdict, EffectVerdict::kRegressed);
}

TEST(Effect, ASmallCertainDifferenceWithinTheMarginIsNoChange) {
  const Effect effect = Compute({0.301, 0.302, 0.301}, {0.300, 0.301, 0.3001}, 0.01);
  EXPECT_EQ(effect.verdict, EffectVerdict::kNoChange);
  EXPECT_EQ(Compute({1, 2}, {1, 2}).verdict, EffectVerdict::kNoChange);
}

TEST(Effect, AnIntervalAcrossZeroAndTheMarginIsInconclusiveAndCountsRuns) {
  const Effect effect = Compute({0.20, 0.40, 0.25}, {0.30, 0.30, 0.30}, 0.05);
  EXPECT_EQ(effect.verdict, EffectVerdict::kInconclusive);
  ASSERT_TRUE(effect.pairs_needed.has_value());
  EXPECT_GT(*effect.pairs_needed, 3);
}

TEST(Effect, OnePairAndNoPairAreInconclusive) {
  const Effect one = Compute({0.2}, {0.3});
  EXPECT_EQ(one.verdict, EffectVerdict::kInconclusive);
  EXPECT_NEAR(*one.difference.value, -0.1, 1e-12);
  EXPECT_FALSE(one.pairs_needed.has_value());
  EXPECT_EQ(Compute({}, {}).verdict, EffectVerdict::kInconclusive);
}

TEST(Effect, RefusesUnpairedAndNonFiniteInput) {
  EffectInput input;
  input.on = {1, 2};
  input.off = {1};
  EXPECT_EQ(ComputeEffect(input).error().id, "ANL-0003");
  input.off = {1, std::numeric_limits<double>::infinity()};
  EXPECT_EQ(ComputeEffect(input).error().id, "ANL-0004");
}

TEST(Trials, AreSortedBestFirstWithFailuresLast) {
  std::vector<Trial> trials(4);
  trials[0] = {.id = "a", .values = {0.30}};
  trials[1] = {.id = "b", .values = {0.24, 0.26}};
  trials[2] = {.id = "c", .values = {}, .failure = "diverged"};
  trials[3] = {.id = "d", .values = {0.26}};
  const TrialTable table =
      TabulateTrials(trials, "relative MAE", "1", base::Direction::kAtMost, 0.01);
  ASSERT_EQ(table.rows.size(), 4u);
  EXPECT_EQ(table.rows[0].trial.id, "b");
  EXPECT_EQ(table.rows[1].trial.id, "d");
  EXPECT_EQ(table.rows[2].trial.id, "a");
  EXPECT_EQ(table.rows[3].trial.id, "c");
  EXPECT_FALSE(table.rows[3].finished);
  EXPECT_EQ(table.finished, 3);
  EXPECT_NEAR(*table.spread, 0.05, 1e-12);
  EXPECT_NEAR(*table.relative_spread, 0.2, 1e-12);
  EXPECT_NEAR(table.rows[1].behind_best, 0.01, 1e-12);
  EXPECT_TRUE(*table.rows[1].within_noise);   // 0.01 <= 2 * 0.01 * sqrt(1 + 1/2)
  EXPECT_FALSE(*table.rows[2].within_noise);  // 0.05
  EXPECT_NE(table.caution.find("validation"), std::string::npos);
}

TEST(Trials, HigherCanBeBetterAndNothingFinishedIsFine) {
  std::vector<Trial> trials(2);
  trials[0] = {.id = "a", .values = {0.7}};
  trials[1] = {.id = "b", .values = {0.9}};
  EXPECT_EQ(
      TabulateTrials(trials, "recall", "1", base::Direction::kAtLeast).rows[0].trial.id,
      "b");
  const TrialTable none = TabulateTrials({{.id = "x", .failure = "stopped"}}, "recall",
                                         "1", base::Direction::kAtLeast);
  EXPECT_FALSE(none.spread.has_value());
  EXPECT_EQ(ToJson(none)["rows"].AsArray()[0]["failure"].AsString(), "stopped");
}

}  // namespace
}  // namespace stepslack::analyze

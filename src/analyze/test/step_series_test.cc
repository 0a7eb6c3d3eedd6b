#include "stepslack/analyze/step_series.h"

#include <gtest/gtest.h>

#include "made_ranks.h"

namespace stepslack::analyze {
namespace {

// Ranks with the given step times; own time = step time minus communication.
std::vector<RankTrace> Series(const std::vector<std::vector<int64_t>>& step_ns,
                              const std::vector<std::vector<int64_t>>& comm_ns = {}) {
  std::vector<RankTrace> ranks;
  for (size_t r = 0; r < step_ns.size(); ++r) {
    RankTrace rank;
    rank.rank = static_cast<int32_t>(r);
    int64_t at = 1000;
    for (size_t i = 0; i < step_ns[r].size(); ++i) {
      AddStep(rank, static_cast<int64_t>(i), at, at + step_ns[r][i],
              comm_ns.empty() ? 0 : comm_ns[r][i]);
      at += step_ns[r][i];
    }
    ranks.push_back(std::move(rank));
  }
  return ranks;
}

TEST(StepSeries, EachStepHasItsSlowestRankMaximumAndMedian) {
  const StepSeries series = MeasureSteps(Series({{100, 90}, {120, 90}, {110, 80}}));
  ASSERT_EQ(series.steps.size(), 2u);
  EXPECT_EQ(series.steps[0].max_ns, 120);
  EXPECT_EQ(series.steps[0].median_ns, 110);
  EXPECT_EQ(series.steps[0].slowest_rank, 1);
  EXPECT_EQ(series.steps[1].max_ns, 90);
  EXPECT_EQ(series.steps[1].slowest_rank, -1);  // two share it
}

TEST(StepSeries, OnlyStepsThatAllRanksHaveCount) {
  auto ranks = Series({{100, 100, 100}, {100, 100, 100}});
  ranks[1].steps.erase(ranks[1].steps.begin() + 1);
  const StepSeries series = MeasureSteps(ranks);
  ASSERT_EQ(series.steps.size(), 2u);
  EXPECT_EQ(series.steps[1].step, 2);
}

TEST(StepSeries, WarmUpEndsWhereStepsComeNearTheRest) {
  std::vector<int64_t> times = {500, 300, 150};
  times.insert(times.end(), 17, 100);
  const StepSeries series = MeasureSteps(Series({times}));
  EXPECT_EQ(series.warmup_steps, 3);
  EXPECT_EQ(series.median_ns, 100);
}

TEST(StepSeries, OneSlowFirstStepIsWarmUpAndNeverMoreThanAQuarter) {
  std::vector<int64_t> times(12, 100);
  times[0] = 900;
  EXPECT_EQ(MeasureSteps(Series({times})).warmup_steps, 1);
  for (size_t i = 0; i < 5; ++i) times[i] = 900;
  EXPECT_EQ(MeasureSteps(Series({times})).warmup_steps, 3);
  EXPECT_EQ(MeasureSteps(Series({{900, 100, 100}})).warmup_steps, 0);
}

TEST(StepSeries, AChangeOfLevelIsReportedWithItsStep) {
  std::vector<int64_t> times(20, 100);
  times.insert(times.end(), 20, 130);
  const StepSeries series = MeasureSteps(Series({times}));
  ASSERT_EQ(series.changes.size(), 1u);
  EXPECT_EQ(series.changes[0].step, 20);
  EXPECT_EQ(series.changes[0].before_ns, 100);
  EXPECT_EQ(series.changes[0].after_ns, 130);
}

TEST(StepSeries, ARankThatAlwaysHasTheMostOwnTimeIsPersistentlySlow) {
  // Equal step times: the others wait 30 of 100 for rank 2.
  const std::vector<int64_t> all(12, 100);
  const std::vector<int64_t> waits(12, 30);
  const std::vector<int64_t> none(12, 0);
  const StepSeries series = MeasureSteps(Series({all, all, all}, {waits, waits, none}));
  ASSERT_TRUE(series.persistent.has_value());
  EXPECT_EQ(series.persistent->rank, 2);
  EXPECT_EQ(series.persistent->steps, 12);
  EXPECT_EQ(series.persistent->steps_slowest, 12);
  EXPECT_DOUBLE_EQ(series.persistent->p, 3.0 / 4096);  // 3 ranks, 2^-12
  EXPECT_EQ(series.persistent->median_excess_ns, 30);
}

TEST(StepSeries, TakingTurnsOrFewStepsIsNotPersistent) {
  std::vector<int64_t> a;
  std::vector<int64_t> b;
  for (int i = 0; i < 20; ++i) {
    a.push_back(i % 2 == 0 ? 100 : 90);
    b.push_back(i % 2 == 0 ? 90 : 100);
  }
  EXPECT_FALSE(MeasureSteps(Series({a, b})).persistent.has_value());
  EXPECT_FALSE(MeasureSteps(Series({{100, 100}, {90, 90}})).persistent.has_value());
}

TEST(StepSeries, StepsFoundInDifferentWaysAreNotCompared) {
  auto ranks = Series({{100}, {100}});
  ranks[1].step_source = StepSource::kKernelSignature;
  const StepSeries series = MeasureSteps(ranks);
  EXPECT_TRUE(series.steps.empty());
  EXPECT_EQ(series.reasons.size(), 1u);
  EXPECT_TRUE(ToJson(series)["median_ns"].is_null());
}

TEST(StepSeries, JsonIsBoundedAndSaysWhatItLeftOut) {
  const base::Json json = ToJson(MeasureSteps(Series({{100, 90, 80}})), 2);
  EXPECT_EQ(json["steps"].AsArray().size(), 2u);
  EXPECT_EQ(json["steps_omitted"].AsInt(), 1);
  EXPECT_TRUE(json["persistent"].is_null());
}

}  // namespace
}  // namespace stepslack::analyze

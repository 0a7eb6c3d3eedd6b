#include "stepslack/analyze/timeline.h"

#include <gtest/gtest.h>

#include "made_runs.h"

namespace stepslack::analyze {
namespace {

TEST(Timeline, ShowsPhasesAndCollectivesOnTheirOwnLanes) {
  auto traces = TwoRankStep();
  for (auto& store : traces) {
    for (size_t i = 0; i < store.size(); ++i) {  // as on a real clock
      store.start_ns[i] += 5000;
      store.end_ns[i] += 5000;
    }
  }
  const Timeline timeline = BuildTimeline(traces);
  EXPECT_EQ(timeline.source, "traces");
  EXPECT_EQ(timeline.origin_ns, 5000);
  EXPECT_EQ(timeline.length_ns, 1000);
  EXPECT_EQ(timeline.first_step, 7);
  ASSERT_EQ(timeline.ranks.size(), 2u);
  const TimelineRank& rank = timeline.ranks[0];
  ASSERT_EQ(rank.phases.size(), 5u);
  EXPECT_EQ(rank.phases[2].phase, Phase::kBackward);
  EXPECT_EQ(rank.phases[2].start_ns, 300);
  EXPECT_EQ(rank.phases[2].end_ns, 700);
  ASSERT_EQ(rank.collectives.size(), 2u);
  EXPECT_EQ(rank.collectives[1].start_ns, 650);
  EXPECT_EQ(rank.collectives[1].bytes, 1300);
}

TEST(Timeline, StartsAfterTheFirstTracedStepAndCutsAtTheWindow) {
  std::vector<trace::EventStore> traces = {MadeStore(0)};
  for (int64_t s = 0; s < 5; ++s) {
    AddSpan(traces[0], "ProfilerStep#" + std::to_string(s), s * 100, s * 100 + 100);
    AddSpan(traces[0], "forward", s * 100 - 10, s * 100 + 50);
  }
  const Timeline timeline = BuildTimeline(traces, {.step_count = 2});
  EXPECT_EQ(timeline.first_step, 1);
  EXPECT_EQ(timeline.last_step, 2);
  ASSERT_EQ(timeline.ranks.size(), 1u);
  EXPECT_EQ(timeline.ranks[0].steps.size(), 2u);
  ASSERT_EQ(timeline.ranks[0].phases.size(), 3u);
  EXPECT_EQ(timeline.ranks[0].phases[0].start_ns, 0);  // cut from -10
  EXPECT_EQ(timeline.ranks[0].phases[0].end_ns, 50);
  EXPECT_EQ(timeline.ranks[0].phases[2].end_ns, 200);
}

TEST(Timeline, CountsWhatTheLimitDrops) {
  std::vector<trace::EventStore> traces = {MadeStore(0)};
  AddSpan(traces[0], "ProfilerStep#0", 0, 100);
  AddSpan(traces[0], "forward", 0, 50);
  AddSpan(traces[0], "data", 50, 53);
  AddSpan(traces[0], "backward", 60, 90);
  const Timeline timeline = BuildTimeline(traces, {.spans_per_lane = 2});
  EXPECT_EQ(timeline.dropped_spans, 1);
  EXPECT_EQ(timeline.dropped_ns, 3);
  ASSERT_EQ(timeline.ranks[0].phases.size(), 2u);
  EXPECT_EQ(timeline.ranks[0].phases[0].phase, Phase::kForward);
}

TEST(Timeline, StepRecordsAreLaidOutInOrder) {
  const StepShape shape = {.step = 100,
                           .data = 10,
                           .forward = 20,
                           .backward = 40,
                           .comm_wait = 15,
                           .optimizer = 5};
  const Timeline timeline = BuildTimelineFromSteps(MadeRun({shape, shape}, 4),
                                                   {.first_step = 2, .step_count = 1});
  ASSERT_EQ(timeline.ranks.size(), 2u);
  EXPECT_EQ(timeline.length_ns, 100'000'000);
  const auto& phases = timeline.ranks[1].phases;
  ASSERT_EQ(phases.size(), 5u);
  EXPECT_EQ(phases[3].phase, Phase::kCommWait);
  EXPECT_EQ(phases[3].start_ns, 70'000'000);
  EXPECT_EQ(phases[3].end_ns, 85'000'000);
}

TEST(Timeline, IsEmptyWithoutSteps) {
  EXPECT_TRUE(BuildTimeline({}).ranks.empty());
  EXPECT_TRUE(BuildTimelineFromSteps(record::RunRecord{}).ranks.empty());
  const auto traces = TwoRankStep();
  EXPECT_TRUE(BuildTimeline(traces, {.first_step = 99}).ranks.empty());
  EXPECT_EQ(ToJson(BuildTimeline(traces))["ranks"].AsArray().size(), 2u);
}

}  // namespace
}  // namespace stepslack::analyze

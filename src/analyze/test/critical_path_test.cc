#include "stepslack/analyze/critical_path.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "made_ranks.h"

namespace stepslack::analyze {
namespace {

CriticalPathResult Find(const std::vector<RankTrace>& ranks,
                        const CriticalPathOptions& options = {}) {
  return FindCriticalPath(ranks, MeasureCrossRank(ranks), options);
}

TEST(CriticalPath, JumpsToTheLastArriverAtItsArrival) {
  const auto result = Find(TwoRanks());
  ASSERT_TRUE(result.path.has_value());
  const CriticalPath& path = *result.path;
  // Both end at 720; rank 0 was last at 650, its compute goes back to 450, transfer to
  // 400, where rank 1 arrived last, whose compute goes back to 0.
  EXPECT_EQ(path.start_ns, 0);
  EXPECT_EQ(path.end_ns, 720);
  EXPECT_EQ(path.times.compute_ns, 200 + 400);
  EXPECT_EQ(path.times.transfer_ns, 70 + 50);
  EXPECT_EQ(path.times.TotalNs(), 720);
  EXPECT_EQ(path.jumps, 1);
  ASSERT_EQ(path.segments.size(), 2u);
  EXPECT_EQ(path.segments[0].rank, 1);
  EXPECT_EQ(path.segments[0].end_ns, 400);
  EXPECT_EQ(path.segments[0].next_rank, 0);
  EXPECT_EQ(path.segments[0].op, "all_reduce");
  EXPECT_EQ(path.segments[0].seq, 0);
  EXPECT_EQ(path.segments[1].rank, 0);
  EXPECT_EQ(path.segments[1].start_ns, 400);
  EXPECT_EQ(path.segments[1].next_rank, -1);
  ASSERT_EQ(path.by_rank.size(), 2u);
  EXPECT_EQ(path.by_rank[0].rank, 1);
  EXPECT_EQ(path.by_rank[0].times.TotalNs(), 400);
  EXPECT_EQ(path.by_rank[1].times.TotalNs(), 320);
}

TEST(CriticalPath, TellsMemoryIdleAndUnmatchedCommunicationApart) {
  // Rank 1: compute to 100, copy to 150, idle to 180, lone communication to 240, idle
  // to 300, arrives last at 300; rank 0 waits from 50.
  std::vector<RankTrace> ranks = {
      MadeRank(0, 2, {{50, 340, 0}}, {{0, 50}}),
      MadeRank(1, 2, {{180, 240, 9, "odd", "x"}, {300, 350, 0}}, {{0, 100}},
               {{90, 150}})};
  const auto result = Find(ranks);
  ASSERT_TRUE(result.path.has_value());
  EXPECT_EQ(result.path->times.compute_ns, 100);
  EXPECT_EQ(result.path->times.memory_ns, 50);
  EXPECT_EQ(result.path->times.idle_ns, 30 + 60);
  EXPECT_EQ(result.path->times.unexplained_ns, 60);
  EXPECT_EQ(result.path->times.transfer_ns, 50);
  EXPECT_EQ(result.path->times.TotalNs(), 350);
}

TEST(CriticalPath, StaysInTheStepsThatAllRanksHave) {
  auto ranks = TwoRanks();
  AddStep(ranks[0], 4, 0, 450);
  AddStep(ranks[0], 5, 450, 720);
  AddStep(ranks[1], 5, 450, 715);
  const auto result = Find(ranks);
  ASSERT_TRUE(result.path.has_value());
  EXPECT_EQ(result.path->start_ns, 450);
  EXPECT_EQ(result.path->end_ns, 720);
  EXPECT_EQ(result.path->times.compute_ns, 200);
  EXPECT_EQ(result.path->times.transfer_ns, 70);
}

TEST(CriticalPath, MutualWaitsAtOneInstantDoNotGoInACircle) {
  // Two streams: rank 0 waits in a for rank 1, which starts a at 100 while it waits in
  // b for rank 0, which starts b at 100.
  const std::vector<RankTrace> ranks = {
      MadeRank(0, 2,
               {{0, 110, 0, "all_reduce", "a"}, {100, 120, 0, "all_reduce", "b"}}),
      MadeRank(1, 2,
               {{0, 120, 0, "all_reduce", "b"}, {100, 110, 0, "all_reduce", "a"}})};
  const auto result = Find(ranks);
  ASSERT_TRUE(result.path.has_value());
  EXPECT_EQ(result.path->times.TotalNs(), 120);
  EXPECT_EQ(result.path->times.transfer_ns, 20);
  EXPECT_EQ(result.path->times.unexplained_ns, 100);
}

TEST(CriticalPath, KeepsTheLongestSegmentsAndCountsTheOthers) {
  const auto result = Find(TwoRanks(), {.max_segments = 1});
  ASSERT_TRUE(result.path.has_value());
  ASSERT_EQ(result.path->segments.size(), 1u);
  EXPECT_EQ(result.path->segments[0].rank, 1);
  EXPECT_EQ(result.path->segments_omitted, 1);
  EXPECT_EQ(result.path->times.TotalNs(), 720);  // of all
}

TEST(CriticalPath, WithoutWaitsThereIsNoneAndTheReasonsAreThose) {
  const std::vector<RankTrace> one = {TwoRanks()[0]};
  const auto result = Find(one);
  EXPECT_FALSE(result.path.has_value());
  EXPECT_FALSE(result.reasons.empty());
  EXPECT_TRUE(ToJson(result)["length_ns"].is_null());
}

TEST(CriticalPath, JsonHasTimesJumpsAndSegments) {
  const base::Json json = ToJson(Find(TwoRanks()));
  EXPECT_EQ(json["length_ns"].AsInt(), 720);
  EXPECT_EQ(json["times"]["compute_ns"].AsInt(), 600);
  EXPECT_EQ(json["jumps"].AsInt(), 1);
  EXPECT_EQ(json["by_rank"].AsArray().at(0)["rank"].AsInt(), 1);
  EXPECT_EQ(json["segments"].AsArray().at(0)["next_rank"].AsInt(-1), 0);
  EXPECT_TRUE(json["segments"].AsArray().at(1)["next_rank"].is_null());
}

// Any spans that overlap in any way: the path ends, and its parts add up.
RC_GTEST_PROP(CriticalPathProperty, PartsAddUpToTheLength, ()) {
  const int ranks = *rc::gen::inRange(2, 5);
  const int64_t collectives = *rc::gen::inRange<int64_t>(1, 8);
  std::vector<int64_t> base;
  for (int64_t k = 0; k < collectives; ++k) {
    base.push_back(*rc::gen::inRange<int64_t>(0, 40) * 10);
  }
  std::vector<RankTrace> made;
  for (int r = 0; r < ranks; ++r) {
    std::vector<MadeSpan> spans;
    std::vector<trace::Interval> compute;
    for (int64_t k = 0; k < collectives; ++k) {
      const int64_t early = *rc::gen::inRange<int64_t>(0, 12) * 10;
      const int64_t at = base[static_cast<size_t>(k)];
      spans.push_back({at - early, at + *rc::gen::inRange<int64_t>(0, 5) * 10, k});
      const int64_t from = *rc::gen::inRange<int64_t>(-20, 50) * 10;
      compute.push_back({from, from + *rc::gen::inRange<int64_t>(1, 15) * 10});
    }
    std::sort(spans.begin(), spans.end(),
              [](const auto& a, const auto& b) { return a.start_ns < b.start_ns; });
    made.push_back(MadeRank(r, ranks, spans, compute));
  }
  const CrossRank cross = MeasureCrossRank(made);
  RC_PRE(cross.waits.has_value());
  const auto result = FindCriticalPath(made, cross);
  RC_ASSERT(result.path.has_value());
  const CriticalPath& path = *result.path;
  RC_ASSERT(path.times.TotalNs() == path.end_ns - path.start_ns);
  int64_t of_ranks = 0;
  for (const RankOnPath& of : path.by_rank) of_ranks += of.times.TotalNs();
  RC_ASSERT(of_ranks == path.times.TotalNs());
  for (size_t i = 1; i < path.segments.size(); ++i) {
    RC_ASSERT(path.segments[i].start_ns == path.segments[i - 1].end_ns);
  }
}

}  // namespace
}  // namespace stepslack::analyze

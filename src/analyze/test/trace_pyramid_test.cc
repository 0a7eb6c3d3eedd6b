#include "stepslack/analyze/trace_pyramid.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>

namespace stepslack::analyze {
namespace {

using trace::Interval;
using trace::IntervalSet;

RankTrace MadeRank(int32_t rank, std::vector<Interval> compute,
                   std::vector<Interval> comm, std::vector<Interval> memory = {}) {
  RankTrace trace;
  trace.rank = rank;
  trace.compute = IntervalSet(std::move(compute));
  trace.comm = IntervalSet(std::move(comm));
  trace.memory = IntervalSet(std::move(memory));
  return trace;
}

TracePyramid Build(const std::vector<RankTrace>& traces,
                   const PyramidOptions& options = {},
                   const std::vector<int64_t>& offsets = {}) {
  auto pyramid = BuildPyramid(traces, offsets, options);
  EXPECT_TRUE(pyramid.has_value()) << base::Describe(pyramid.error());
  return std::move(pyramid).value_or(TracePyramid());
}

TEST(TracePyramid, SplitsAHandWorkedRankIntoTiles) {
  // 0..40 compute, 30..60 comm (10 overlapped, 20 exposed), 55..70 memory (10 alone),
  // 70..90 idle, 90..100 compute.
  const std::vector<RankTrace> traces = {
      MadeRank(0, {{1000, 1040}, {1090, 1100}}, {{1030, 1060}}, {{1055, 1070}})};
  const TracePyramid pyramid = Build(traces, {.min_tile_ns = 50});
  EXPECT_EQ(pyramid.origin_ns, 1000);
  EXPECT_EQ(pyramid.length_ns, 100);
  ASSERT_EQ(pyramid.levels.size(), 1u);  // two tiles are few enough
  const PyramidLevel& level = pyramid.levels[0];
  EXPECT_EQ(level.tile_ns, 50);
  ASSERT_EQ(level.tiles, 2u);
  EXPECT_EQ(level.At(0, 0).sum, (TimeSplit{30, 10, 10, 0, 0}));
  EXPECT_EQ(level.At(0, 1).sum, (TimeSplit{10, 10, 0, 10, 20}));
  EXPECT_EQ(level.At(0, 1).worst_row, 0);
  EXPECT_EQ(level.At(0, 1).worst_exposed_ns, 10);
  EXPECT_EQ(pyramid.ranks[0].total, (TimeSplit{40, 20, 10, 10, 20}));
}

TEST(TracePyramid, TimeOutsideTheSpanOfARankBelongsToNoPart) {
  const std::vector<RankTrace> traces = {MadeRank(0, {{0, 100}}, {}),
                                         MadeRank(1, {{30, 40}, {60, 70}}, {})};
  const TracePyramid pyramid = Build(traces, {.min_tile_ns = 50});
  EXPECT_EQ(pyramid.levels[0].At(1, 0).sum, (TimeSplit{10, 0, 0, 0, 10}));
  EXPECT_EQ(pyramid.levels[0].At(1, 1).sum, (TimeSplit{10, 0, 0, 0, 10}));
  EXPECT_EQ(pyramid.ranks[1].first_ns, 30);
  EXPECT_EQ(pyramid.ranks[1].last_ns, 70);
}

TEST(TracePyramid, OffsetsMoveARankAndRanksAreInOrder) {
  const std::vector<RankTrace> traces = {MadeRank(5, {{1000, 1100}}, {}),
                                         MadeRank(2, {{500, 600}}, {})};
  const TracePyramid pyramid = Build(traces, {.min_tile_ns = 100}, {-450, 50});
  ASSERT_EQ(pyramid.ranks.size(), 2u);
  EXPECT_EQ(pyramid.ranks[0].rank, 2);
  EXPECT_EQ(pyramid.ranks[0].trace, 1u);
  EXPECT_EQ(pyramid.origin_ns, 550);
  EXPECT_EQ(pyramid.length_ns, 100);
  EXPECT_EQ(pyramid.levels[0].At(0, 0).sum.compute_ns, 100);
  EXPECT_EQ(pyramid.levels[0].At(1, 0).sum.compute_ns, 100);
}

TEST(TracePyramid, AMergedRowNamesTheRankWithMostExposedCommunication) {
  std::vector<RankTrace> traces;
  for (int32_t rank = 0; rank < 4; ++rank) {
    traces.push_back(MadeRank(rank, {{0, 1}}, {{1, rank == 2 ? 90 : 20}, {95, 100}}));
  }
  const TracePyramid pyramid =
      Build(traces, {.min_tile_ns = 100, .merge = 4, .rows_enough = 1});
  ASSERT_EQ(pyramid.levels.size(), 2u);
  const PyramidLevel& merged = pyramid.levels[1];
  EXPECT_EQ(merged.ranks_per_row, 4u);
  ASSERT_EQ(merged.rows, 1u);
  EXPECT_EQ(merged.At(0, 0).sum, (TimeSplit{4, 3 * 24 + 94, 0, 0, 3 * 75 + 5}));
  EXPECT_EQ(merged.At(0, 0).worst_row, 2);
  EXPECT_EQ(merged.At(0, 0).worst_exposed_ns, 94);
}

bool KeepsSums(const TracePyramid& pyramid) {
  for (const PyramidLevel& level : pyramid.levels) {
    for (size_t row = 0; row < level.rows; ++row) {
      TimeSplit expected;
      TimeSplit found;
      int64_t span_ns = 0;
      size_t first = row * level.ranks_per_row;
      if (!level.focus.empty()) first = static_cast<size_t>(level.focus[row]);
      const size_t end = std::min(first + level.ranks_per_row, pyramid.ranks.size());
      for (size_t i = first; i < end; ++i) {
        expected += pyramid.ranks[i].total;
        span_ns += pyramid.ranks[i].last_ns - pyramid.ranks[i].first_ns;
      }
      for (size_t tile = 0; tile < level.tiles; ++tile) {
        found += level.At(row, tile).sum;
      }
      if (found != expected || found.SumNs() != span_ns) return false;
    }
  }
  return true;
}

TEST(TracePyramid, EveryLevelKeepsTheSumsOfAnyRanks) {
  rc::check([] {
    std::vector<RankTrace> traces;
    std::vector<int64_t> offsets;
    const int ranks = *rc::gen::inRange(1, 9);
    const auto intervals = [] {
      std::vector<Interval> made;
      const auto starts =
          *rc::gen::container<std::vector<int64_t>>(rc::gen::inRange<int64_t>(0, 9000));
      for (const int64_t start : starts) {
        made.push_back({start, start + *rc::gen::inRange<int64_t>(0, 700)});
      }
      return made;
    };
    for (int32_t rank = 0; rank < ranks; ++rank) {
      traces.push_back(MadeRank(rank, intervals(), intervals(), intervals()));
      offsets.push_back(*rc::gen::inRange<int64_t>(-500, 500));
    }
    const auto pyramid = BuildPyramid(traces, offsets,
                                      {.max_bytes = 40'000,
                                       .min_tile_ns = 7,
                                       .merge = 2,
                                       .rows_enough = 2,
                                       .focus = {3, 0, 77}});
    RC_ASSERT(pyramid.has_value());
    RC_ASSERT(KeepsSums(*pyramid));
    size_t bytes = 0;
    for (const PyramidLevel& level : pyramid->levels) bytes += level.Bytes();
    RC_ASSERT(bytes <= 40'000u);
  });
}

TEST(TracePyramid, EightThousandRanksStayBelowTheCapAndKeepTheirSums) {
  std::vector<RankTrace> traces;
  for (int32_t rank = 0; rank < 8192; ++rank) {
    std::vector<Interval> compute;
    std::vector<Interval> comm;
    for (int64_t step = 0; step < 60; ++step) {
      const int64_t start = step * 1'000'000 + rank % 13 * 1000;
      compute.push_back({start, start + 700'000});
      comm.push_back({start + 600'000, start + 900'000 + (rank == 4711 ? 90'000 : 0)});
    }
    traces.push_back(MadeRank(rank, compute, comm));
  }
  const TracePyramid pyramid = Build(traces);
  size_t bytes = 0;
  bool merged = false;
  for (const PyramidLevel& level : pyramid.levels) {
    bytes += level.Bytes();
    // Tiles of the coarsest level hold several steps each.
    if (level.ranks_per_row == 1 || level.tiles > 16) continue;
    merged = true;
    const size_t row = 4711 / level.ranks_per_row;
    for (size_t tile = 0; tile + 1 < level.tiles; ++tile) {
      EXPECT_EQ(level.At(row, tile).worst_row, 4711);
    }
  }
  EXPECT_TRUE(merged);
  EXPECT_TRUE(pyramid.levels.back().focus.empty());  // there are no steps to be worst
  EXPECT_LE(bytes, PyramidOptions().max_bytes);
  EXPECT_EQ(pyramid.levels.front().ranks_per_row, 1u);
  EXPECT_TRUE(KeepsSums(pyramid));
  EXPECT_EQ(pyramid.ranks[4711].total.comm_exposed_ns, 60 * 290'000);
}

TEST(TracePyramid, RanksInTheFocusKeepFineTilesAmongMany) {
  std::vector<RankTrace> traces;
  for (int32_t rank = 0; rank < 200; ++rank) {
    traces.push_back(MadeRank(rank, {{0, 100'000}}, {}));
  }
  traces[150].comm = IntervalSet({{50'000, 50'500}});
  traces[150].steps.resize(1);
  traces[150].steps[0].device.exposed_comm_ns = 500;
  const TracePyramid pyramid = Build(traces, {.max_bytes = 120'000, .min_tile_ns = 10});
  const PyramidLevel& coarse = pyramid.levels.front();
  EXPECT_EQ(coarse.rows, 200u);
  const auto fine =
      std::find_if(pyramid.levels.begin(), pyramid.levels.end(),
                   [](const PyramidLevel& level) { return !level.focus.empty(); });
  ASSERT_NE(fine, pyramid.levels.end());
  EXPECT_EQ(fine->focus, (std::vector<int32_t>{150}));
  ASSERT_EQ(fine->rows, 1u);
  EXPECT_LT(fine->tile_ns * 50, coarse.tile_ns);
  const size_t tile = static_cast<size_t>(50'000 / fine->tile_ns);
  EXPECT_GT(fine->At(0, tile).sum.comm_overlapped_ns, 0);
  EXPECT_EQ(pyramid.levels.back().focus.size(), 1u);
}

TEST(TracePyramid, RefusesTimesOfDifferentAgesAndWrongOffsets) {
  const std::vector<RankTrace> traces = {MadeRank(
      0, {{0, 1}, {1'700'000'000'000'000'000, 1'700'000'000'000'001'000}}, {})};
  EXPECT_EQ(BuildPyramid(traces).error().id, "RENDER-0151");
  const std::vector<int64_t> two = {1, 2};
  EXPECT_EQ(BuildPyramid(traces, two).error().id, "RENDER-0150");
  const std::vector<int64_t> far = {int64_t{1} << 62};
  EXPECT_EQ(BuildPyramid(traces, far).error().id, "RENDER-0152");
}

TEST(TracePyramid, NothingToDrawGivesNoLevels) {
  EXPECT_TRUE(Build({}).levels.empty());
  const TracePyramid pyramid = Build({MadeRank(3, {}, {})});
  EXPECT_TRUE(pyramid.levels.empty());
  EXPECT_EQ(pyramid.ranks.size(), 1u);
}

TEST(TracePyramid, WorstStepsComeByLostTime) {
  std::vector<RankTrace> traces = {MadeRank(0, {{0, 100}}, {}),
                                   MadeRank(1, {{0, 100}}, {})};
  for (size_t rank = 0; rank < 2; ++rank) {
    for (int64_t step = 0; step < 2; ++step) {
      TraceStep made;
      made.step = 10 + step;
      made.start_ns = step * 50;
      made.end_ns = step * 50 + 50;
      made.device.exposed_comm_ns = rank == 1 && step == 0 ? 30 : 5;
      made.device.idle_ns = step;
      traces[rank].steps.push_back(made);
    }
  }
  const TracePyramid pyramid = Build(traces);
  const std::vector<WorstStep> worst = FindWorstSteps(traces, pyramid, 3);
  ASSERT_EQ(worst.size(), 3u);
  EXPECT_EQ(worst[0].rank, 1);
  EXPECT_EQ(worst[0].step, 10);
  EXPECT_EQ(worst[0].end_ns, 50);
  EXPECT_EQ(worst[1].rank, 0);  // 6 ns, before rank 1
  EXPECT_EQ(worst[1].step, 11);
  EXPECT_EQ(worst[2].rank, 1);
}

}  // namespace
}  // namespace stepslack::analyze

#include "stepslack/analyze/cross_rank.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "made_ranks.h"
#include "stepslack/analyze/critical_path.h"
#include "stepslack/analyze/pop_factors.h"
#include "stepslack/analyze/step_series.h"

namespace stepslack::analyze {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(CrossRank, SplitsWaitAndTransferPerRank) {
  const CrossRank cross = MeasureCrossRank(TwoRanks());
  EXPECT_EQ(cross.matched, 2);
  EXPECT_EQ(cross.refused, 0);
  EXPECT_EQ(cross.unmatched, 0);
  EXPECT_EQ(cross.matched_by_order, 0);
  ASSERT_TRUE(cross.waits.has_value());
  const RankWaits& zero = cross.waits->by_rank[0];
  const RankWaits& one = cross.waits->by_rank[1];
  EXPECT_EQ(zero.wait_ns, 300);
  EXPECT_EQ(zero.transfer_ns, 120);
  EXPECT_EQ(zero.times_last, 1);
  EXPECT_EQ(zero.times_first, 1);
  EXPECT_EQ(zero.wait_caused_ns, 50);
  EXPECT_EQ(one.wait_ns, 50);
  EXPECT_EQ(one.transfer_ns, 120);
  EXPECT_EQ(one.wait_caused_ns, 300);
  EXPECT_EQ(cross.waits->wait_ns, 350);
  EXPECT_EQ(cross.waits->comm_ns, 590);
  EXPECT_EQ(cross.waits->transfer_estimate_ns, 50 + 70);
  EXPECT_DOUBLE_EQ(cross.waits->wait_share, 350.0 / 590.0);
  EXPECT_DOUBLE_EQ(cross.waits->wait_share_estimate, 1 - 240.0 / 590.0);
  EXPECT_EQ(cross.waits->max_start_skew_ns, 300);
  EXPECT_EQ(cross.waits->median_start_skew_ns, 50);
}

TEST(CrossRank, BandwidthIsOverTheShortestDuration) {
  std::vector<RankTrace> ranks;
  for (int32_t r = 0; r < 4; ++r) {
    ranks.push_back(MadeRank(
        r, 4, {{r * 100, 500, 0, "all_reduce", "0", 1000}, {600, 700, 1, "odd"}}));
  }
  const CrossRank cross = MeasureCrossRank(ranks);
  ASSERT_EQ(cross.rows.size(), 2u);
  EXPECT_EQ(cross.rows[0].shortest_ns, 200);
  EXPECT_DOUBLE_EQ(*cross.rows[0].algorithm_bandwidth_gbps, 5.0);  // 1000 B / 200 ns
  EXPECT_DOUBLE_EQ(*cross.rows[0].bus_bandwidth_gbps, 7.5);  // times 2 (4 - 1) / 4
  EXPECT_FALSE(cross.rows[1].algorithm_bandwidth_gbps.has_value());  // bytes not known
  ASSERT_EQ(cross.by_op.size(), 2u);
  EXPECT_EQ(cross.by_op[0].op, "all_reduce");
  EXPECT_EQ(cross.by_op[0].spans, 4);
  EXPECT_EQ(cross.by_op[0].matched, 1);
  EXPECT_EQ(cross.by_op[0].total_ns, 500 + 400 + 300 + 200);
  EXPECT_EQ(cross.by_op[0].wait_ns, 300 + 200 + 100);
  EXPECT_DOUBLE_EQ(*cross.by_op[0].bus_bandwidth_gbps, 7.5);
  EXPECT_FALSE(cross.by_op[0].bandwidth_includes_waiting);
}

TEST(CrossRank, OneRankGivesBandwidthThatIncludesWaitingAndNoWaits) {
  const std::vector<RankTrace> one = {
      MadeRank(0, 2, {{0, 500, 0, "all_reduce", "0", 1000}})};
  const CrossRank cross = MeasureCrossRank(one);
  EXPECT_FALSE(cross.waits.has_value());
  ASSERT_FALSE(cross.reasons.empty());
  EXPECT_THAT(cross.reasons[0], HasSubstr("one rank alone"));
  ASSERT_EQ(cross.by_op.size(), 1u);
  EXPECT_DOUBLE_EQ(*cross.by_op[0].algorithm_bandwidth_gbps, 2.0);
  EXPECT_DOUBLE_EQ(*cross.by_op[0].bus_bandwidth_gbps, 2.0);  // 2 (2 - 1) / 2 = 1
  EXPECT_TRUE(cross.by_op[0].bandwidth_includes_waiting);
}

TEST(CrossRank, ARankTwiceMissingRanksAndOtherWorldsGiveReasonsNotNumbers) {
  auto twice = TwoRanks();
  twice.push_back(twice[1]);
  CrossRank cross = MeasureCrossRank(twice);
  EXPECT_FALSE(cross.waits.has_value());
  EXPECT_THAT(cross.reasons, ElementsAre("rank 1 is in the input more than once"));
  EXPECT_FALSE(cross.all_ranks);

  auto missing = TwoRanks();
  for (RankTrace& rank : missing) rank.world_size = 4;
  missing[1].rank = 3;
  cross = MeasureCrossRank(missing);
  EXPECT_FALSE(cross.waits.has_value());
  ASSERT_FALSE(cross.reasons.empty());
  EXPECT_EQ(cross.reasons[0], "traces of 2 of 4 ranks are missing: 1, 2");

  auto worlds = TwoRanks();
  worlds[1].world_size = 8;
  cross = MeasureCrossRank(worlds);
  EXPECT_FALSE(cross.waits.has_value());
  EXPECT_EQ(cross.reasons[0], "traces disagree on the world size: 2, 8");

  auto unknown = TwoRanks();
  unknown[0].rank = -1;
  cross = MeasureCrossRank(unknown);
  EXPECT_FALSE(cross.waits.has_value());
  EXPECT_EQ(cross.reasons[0], "a trace does not say which rank it is");

  EXPECT_FALSE(MeasureCrossRank({}).waits.has_value());
}

TEST(CrossRank, DisjointGroupsWithOwnNamesMatchEachOnItsOwn) {
  std::vector<RankTrace> ranks;
  for (int32_t r = 0; r < 4; ++r) {
    const std::string_view group = r < 2 ? "tp0" : "tp1";
    ranks.push_back(MadeRank(r, 4,
                             {{100 + r * 10, 200, 0, "all_reduce", group, 8, 2},
                              {300 + r * 10, 400, 0, "all_reduce", "0", 8, 4}}));
  }
  const CrossRank cross = MeasureCrossRank(ranks);
  EXPECT_EQ(cross.matched, 3);
  ASSERT_TRUE(cross.waits.has_value());
  EXPECT_EQ(cross.waits->by_rank[0].wait_ns, 10 + 30);
  EXPECT_EQ(cross.waits->by_rank[2].wait_ns, 10 + 10);
  EXPECT_EQ(cross.waits->by_rank[1].wait_caused_ns, 10);
  EXPECT_EQ(cross.waits->by_rank[3].wait_caused_ns, 10 + 60);
}

TEST(CrossRank, DisjointGroupsThatShareANameAreNotGuessed) {
  std::vector<RankTrace> ranks;
  for (int32_t r = 0; r < 4; ++r) {
    ranks.push_back(MadeRank(r, 4,
                             {{100, 200, 0, "all_reduce", "tp", 8, 2},
                              {300, 400, 0, "all_reduce", "0", 8, 4}}));
  }
  const CrossRank cross = MeasureCrossRank(ranks);
  EXPECT_EQ(cross.matched, 1);
  EXPECT_EQ(cross.unmatched, 4);
  EXPECT_EQ(cross.unmatched_by_reason.at(
                "more ranks than the group has: groups share a name"),
            4);
}

TEST(CrossRank, ASequenceNumberWithoutAGroupIdentifiesNothing) {
  // Same numbers on both ranks, but of different groups of each.
  const std::vector<RankTrace> ranks = {
      MadeRank(0, 2, {{0, 50, 3, "all_reduce", ""}, {60, 99, 9, "all_reduce", ""}}),
      MadeRank(1, 2, {{0, 50, 9, "all_reduce", ""}, {60, 99, 4, "all_reduce", ""}})};
  const CrossRank cross = MeasureCrossRank(ranks);
  EXPECT_EQ(cross.matched, 2);
  EXPECT_EQ(cross.matched_by_order, 2);
}

TEST(CrossRank, CausalityRefusesAndTooManyRefusalsWithholdAll) {
  std::vector<MadeSpan> zero;
  std::vector<MadeSpan> one;
  for (int64_t k = 0; k < 20; ++k) {
    const int64_t at = k * 10'000'000;
    zero.push_back({at, at + 400'000, k});
    one.push_back({at + 200'000, at + 400'000, k});
  }
  one[7].start_ns += 700'000;  // starts after rank 0 has ended
  one[7].end_ns += 700'000;
  CrossRank cross =
      MeasureCrossRank(std::vector{MadeRank(0, 2, zero), MadeRank(1, 2, one)});
  EXPECT_EQ(cross.matched, 20);
  EXPECT_EQ(cross.refused, 1);
  EXPECT_EQ(cross.refused_by_reason.at("a rank ends before the last one starts"), 1);
  ASSERT_TRUE(cross.waits.has_value());
  EXPECT_EQ(cross.waits->by_rank[0].wait_ns, 19 * 200'000);

  for (const size_t k : {2u, 11u, 15u}) {  // alternating: no clock explains it
    const int64_t by = k == 11 ? -700'000 : 700'000;
    one[k].start_ns += by;
    one[k].end_ns += by;
  }
  cross = MeasureCrossRank(std::vector{MadeRank(0, 2, zero), MadeRank(1, 2, one)});
  EXPECT_EQ(cross.refused, 4);
  EXPECT_FALSE(cross.waits.has_value());
  EXPECT_TRUE(cross.collectives.empty());
  ASSERT_EQ(cross.reasons.size(), 1u);
  EXPECT_THAT(cross.reasons[0], HasSubstr("4 of 20 matched collectives"));
}

TEST(CrossRank, EndsFurtherApartThanTheLongestTookAreRefused) {
  const std::vector<RankTrace> ranks = {
      MadeRank(0, 2, {{0, 100'000, 0, "broadcast"}, {900'000, 990'000, 1}}),
      MadeRank(1, 2, {{300'000, 450'000, 0, "broadcast"}, {900'000, 990'000, 1}})};
  const CrossRank cross = MeasureCrossRank(ranks);
  EXPECT_EQ(cross.refused, 1);
  EXPECT_EQ(cross.refused_by_reason.at("ends lie further apart than the longest took"),
            1);
}

TEST(CrossRank, ARootThatLeavesEarlyDidNotWait) {
  // The root hands its message over and goes on before rank 1 has started.
  const std::vector<RankTrace> ranks = {
      MadeRank(0, 2, {{0, 60'000, 0, "broadcast"}}),
      MadeRank(1, 2, {{80'000, 150'000, 0, "broadcast"}})};
  const CrossRank cross = MeasureCrossRank(ranks, {.min_tolerance_ns = 50'000});
  ASSERT_TRUE(cross.waits.has_value());
  EXPECT_EQ(cross.waits->by_rank[0].wait_ns, 0);
  EXPECT_EQ(cross.waits->by_rank[0].transfer_ns, 60'000);
  EXPECT_EQ(cross.waits->by_rank[1].wait_caused_ns, 0);
}

TEST(CrossRank, SendsAndReceivesMatchByPeerAndOrder) {
  const std::vector<RankTrace> ranks = {
      MadeRank(0, 2,
               {{100, 160, -1, "send", "pp", 64, 2, 1},
                {500, 560, -1, "send", "pp", 64, 2, 1}}),
      MadeRank(1, 2,
               {{0, 170, -1, "recv", "pp", 64, 2, 0},
                {700'000, 700'060, -1, "recv", "pp", 64, 2, 0}})};
  const CrossRank cross = MeasureCrossRank(ranks);
  EXPECT_EQ(cross.matched, 2);
  EXPECT_EQ(cross.refused, 0);  // an eager send may end long before the receive
  ASSERT_TRUE(cross.waits.has_value());
  EXPECT_EQ(cross.waits->by_rank[1].wait_ns, 100);
  EXPECT_EQ(cross.waits->by_rank[0].wait_caused_ns, 100);
  EXPECT_EQ(cross.waits->by_rank[0].wait_ns, 0);
  EXPECT_EQ(cross.collectives[0].name, "send_recv");
}

TEST(CrossRank, SendsWithoutAPeerAreCounted) {
  auto ranks = TwoRanks();
  ranks[0].collectives.push_back(
      {800, 900, 0, ranks[0].strings.Intern("send"), 0, trace::kNoSeq, 8, 2, 1, -1});
  const CrossRank cross = MeasureCrossRank(ranks);
  EXPECT_EQ(cross.unmatched, 1);
  EXPECT_EQ(
      cross.unmatched_by_reason.at("the other rank of a send or receive is not known"),
      1);
  EXPECT_TRUE(cross.waits.has_value());
}

TEST(CrossRank, GroupedExchangesThatBehaveLikeOneCollectiveAreOne) {
  std::vector<RankTrace> good = {MadeRank(0, 2, {{0, 500, -1, "send_recv", ""}}),
                                 MadeRank(1, 2, {{400, 500, -1, "send_recv", ""}})};
  CrossRank cross = MeasureCrossRank(good);
  EXPECT_EQ(cross.matched, 1);
  ASSERT_TRUE(cross.waits.has_value());
  EXPECT_EQ(cross.waits->by_rank[0].wait_ns, 400);

  // Pipeline messages of different partners: as many on each rank, but no exchange.
  std::vector<RankTrace> pipeline = TwoRanks();
  for (RankTrace& rank : pipeline) {
    const int64_t at = rank.rank == 0 ? 100'000 : 800'000;
    rank.collectives.push_back({at, at + 50'000, 0, rank.strings.Intern("send_recv"), 0,
                                trace::kNoSeq, 8, 2, 1, -1});
  }
  cross = MeasureCrossRank(pipeline);
  EXPECT_EQ(cross.matched, 2);
  EXPECT_EQ(cross.refused, 0);
  EXPECT_EQ(cross.unmatched, 2);
  EXPECT_TRUE(cross.waits.has_value());
}

TEST(CrossRank, TellsInheritedLatenessFromWhatArose) {
  // Rank 1 enters 1000 later; at the first collective it is 1040 late (the entry
  // explains 96 %: inherited whole). Then it computes 200 longer than rank 0: that
  // arose.
  const std::vector<RankTrace> ranks = {
      MadeRank(0, 2, {{100, 1200, 0}, {1300, 1600, 1}}, {{0, 100}, {1200, 1300}}),
      MadeRank(1, 2, {{1140, 1200, 0}, {1500, 1600, 1}}, {{1000, 1140}, {1200, 1500}})};
  const CrossRank cross = MeasureCrossRank(ranks);
  ASSERT_TRUE(cross.waits.has_value());
  EXPECT_EQ(cross.waits->first_skew_ns, 1040);
  EXPECT_EQ(cross.waits->entry_skew_ns, 1000);
  EXPECT_EQ(cross.waits->inherited_skew_ns, 1040);
  const RankWaits& late = cross.waits->by_rank[1];
  EXPECT_EQ(late.lateness_ns, 1040 + 200);
  EXPECT_EQ(late.inherited_ns, 1040);
  EXPECT_EQ(late.arisen_ns, 200);
  EXPECT_EQ(cross.rows[1].carried_ns, 0);
  EXPECT_EQ(cross.rows[1].arisen_ns, 200);
  EXPECT_EQ(cross.waits->by_rank[0].lateness_ns, 0);
}

TEST(CrossRank, LatenessThatTheEntryDoesNotExplainArose) {
  const std::vector<RankTrace> ranks = {
      MadeRank(0, 2, {{100, 1200, 0}}, {{0, 100}}),
      MadeRank(1, 2, {{1140, 1200, 0}}, {{300, 1140}})};
  const CrossRank cross = MeasureCrossRank(ranks);
  ASSERT_TRUE(cross.waits.has_value());
  EXPECT_EQ(cross.waits->inherited_skew_ns, 300);
  EXPECT_EQ(cross.waits->by_rank[1].arisen_ns, 740);
}

TEST(CrossRank, ExtremeTimesAreCountedAndDoNoHarm) {
  auto ranks = TwoRanks();
  ranks[0].collectives.push_back({INT64_MIN, INT64_MAX, 0, 0, 0, 5, 0, 0, -1, -1});
  ranks[1].collectives.push_back({INT64_MAX, INT64_MIN, 0, 0, 0, 5, 0, 0, -1, -1});
  ranks[0].window_start_ns = INT64_MIN;
  const CrossRank cross = MeasureCrossRank(ranks);
  EXPECT_EQ(cross.unmatched_by_reason.at("time out of range"), 2);
  EXPECT_EQ(cross.matched, 2);
}

// Garbage of any kind: counted or matched, every span once, and nothing overflows.
RC_GTEST_PROP(CrossRankProperty, GarbageIsCountedAndNeverLost, ()) {
  const auto time = [] {
    return rc::gen::oneOf(
        rc::gen::inRange<int64_t>(0, 1000),
        rc::gen::element<int64_t>(INT64_MIN, INT64_MAX, -1, int64_t{1} << 61));
  };
  static const std::string_view kOps[] = {"all_reduce", "send",      "recv",
                                          "send_recv",  "broadcast", ""};
  std::vector<RankTrace> ranks;
  const int32_t count = *rc::gen::inRange(1, 4);
  for (int32_t r = 0; r < count; ++r) {
    RankTrace rank;
    rank.rank = r;
    rank.world_size = *rc::gen::element<int64_t>(0, count);
    rank.window_start_ns = *time();
    rank.window_end_ns = *time();
    for (int i = *rc::gen::inRange(0, 8); i > 0; --i) {
      rank.collectives.push_back(
          {*time(), *time(), 0, rank.strings.Intern(kOps[*rc::gen::inRange(0, 6)]),
           rank.strings.Intern(*rc::gen::element<std::string>("", "g")),
           *rc::gen::element<int64_t>(-1, 0, 1, INT64_MAX),
           *rc::gen::element<int64_t>(-5, 0, 8, INT64_MAX),
           *rc::gen::element<int64_t>(0, 2, 3, INT64_MAX, -1), 0,
           *rc::gen::element<int32_t>(-1, 0, 1, 2)});
      rank.comm = rank.comm.Union(trace::IntervalSet(
          {{rank.collectives.back().start_ns, rank.collectives.back().end_ns}}));
    }
    rank.compute = trace::IntervalSet({{*time(), *time()}});
    if (*rc::gen::arbitrary<bool>()) {
      TraceStep step;
      step.step = *rc::gen::element<int64_t>(0, 1, INT64_MAX, INT64_MIN);
      step.start_ns = *time();
      step.end_ns = *time();
      rank.steps.push_back(step);
      rank.step_source = StepSource::kProfilerStep;
    }
    ranks.push_back(std::move(rank));
  }
  const CrossRank cross = MeasureCrossRank(ranks);
  if (count > 1) {
    int64_t members = cross.unmatched;
    for (const MatchedCollective& c : cross.collectives) {
      members += static_cast<int64_t>(c.ranks.size());
    }
    if (cross.refused == 0 && cross.waits) RC_ASSERT(members == cross.spans);
    RC_ASSERT(members <= cross.spans);
  }
  RC_ASSERT(cross.waits.has_value() == cross.reasons.empty());
  const auto path = FindCriticalPath(ranks, cross);
  if (path.path) {
    RC_ASSERT(path.path->times.TotalNs() == path.path->end_ns - path.path->start_ns);
  }
  const PopFactors pop = MeasurePop(ranks, cross);
  if (pop.transfer) RC_ASSERT(*pop.transfer > 0 && *pop.transfer <= 1);
  MeasureSteps(ranks);
}

TEST(CrossRank, JsonHasTheNamesThatOthersReadAndIsBounded) {
  const CrossRank cross = MeasureCrossRank(TwoRanks());
  const base::Json json = ToJson(cross, 1);
  EXPECT_EQ(json["matched"].AsInt(), 2);
  EXPECT_EQ(json["refused"].AsInt(-1), 0);
  EXPECT_EQ(json["unmatched"].AsInt(-1), 0);
  const base::Json& rank = json["by_rank"].AsArray().at(1);
  EXPECT_EQ(rank["rank"].AsInt(), 1);
  EXPECT_EQ(rank["times_last"].AsInt(), 1);
  EXPECT_EQ(rank["times_first"].AsInt(), 1);
  EXPECT_EQ(rank["wait_ns"].AsInt(), 50);
  EXPECT_EQ(rank["transfer_ns"].AsInt(), 120);
  EXPECT_EQ(rank["wait_caused_ns"].AsInt(), 300);
  EXPECT_EQ(json["clock_residual_ns"].AsInt(-1), 0);
  EXPECT_EQ(json["clock_offsets"].AsArray().at(0)["offset_ns"].AsInt(-1), 0);
  EXPECT_FALSE(json["clock_offsets"].AsArray().at(0)["applied"].AsBool(true));
  EXPECT_TRUE(json["inherited_skew_ns"].is_int());
  EXPECT_EQ(json["rows"].AsArray().size(), 1u);
  EXPECT_EQ(json["rows"].AsArray()[0]["wait_caused_ns"].AsInt(), 300);
  EXPECT_EQ(json["rows_omitted"].AsInt(), 1);

  const base::Json withheld = ToJson(MeasureCrossRank({}));
  EXPECT_TRUE(withheld["inherited_skew_ns"].is_null());
  EXPECT_TRUE(withheld["wait_ns"].is_null());
  EXPECT_FALSE(withheld["reasons"].AsArray().empty());
}

}  // namespace
}  // namespace stepslack::analyze

#include "stepslack/analyze/collective_match.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "made_runs.h"

namespace stepslack::analyze {
namespace {

TEST(CollectiveMatch, SplitsEachSpanAtTheLastArrival) {
  const auto traces = TwoRankStep();
  const CollectiveMatch match = MatchCollectives(traces);
  ASSERT_EQ(match.collectives.size(), 2u);
  const MatchedCollective& a = match.collectives[0];
  EXPECT_EQ(a.name, "all_reduce");
  EXPECT_EQ(a.seq, 0);
  EXPECT_EQ(a.bytes, 1100);
  EXPECT_EQ(a.last_start_ns, 500);
  EXPECT_EQ(a.last_end_ns, 610);
  EXPECT_EQ(a.end_skew_ns, 10);
  EXPECT_EQ(a.last_rank, 1);
  EXPECT_EQ(a.arrival, (std::vector<int>{0, 1}));
  EXPECT_EQ(a.ranks[0].wait_ns, 100);
  EXPECT_EQ(a.ranks[0].transfer_ns, 100);
  EXPECT_EQ(a.ranks[1].wait_ns, 0);
  EXPECT_EQ(a.ranks[1].transfer_ns, 110);
  EXPECT_EQ(a.wait_caused_ns, 100);
  EXPECT_EQ(match.collectives[1].wait_caused_ns, 110);
  EXPECT_TRUE(match.quality.valid);
  EXPECT_EQ(match.quality.matched_spans, 4);
  EXPECT_EQ(match.quality.unmatched_spans, 0);
  EXPECT_EQ(match.quality.largest_end_skew_ns, 10);
}

TEST(CollectiveMatch, ATieBlamesNobody) {
  std::vector<trace::EventStore> traces = {MadeStore(0), MadeStore(1)};
  AddCollective(traces[0], 0, 100, 200, 8);
  AddCollective(traces[1], 0, 100, 210, 8);
  const CollectiveMatch match = MatchCollectives(traces);
  ASSERT_EQ(match.collectives.size(), 1u);
  EXPECT_EQ(match.collectives[0].last_rank, -1);
  EXPECT_EQ(match.collectives[0].wait_caused_ns, 0);
}

TEST(CollectiveMatch, AMissingPartnerIsCountedNotGuessed) {
  auto traces = TwoRankStep();
  AddCollective(traces[0], 2, 950, 990, 8);
  AddCollective(traces[1], 3, 960, 990, 8);
  const CollectiveMatch match = MatchCollectives(traces);
  EXPECT_EQ(match.quality.matched, 2);
  EXPECT_EQ(match.quality.unmatched_spans, 2);
  EXPECT_EQ(match.unmatched.size(), 2u);
  EXPECT_TRUE(match.quality.valid);
}

TEST(CollectiveMatch, AMissingRankLeavesNothingMatched) {
  const auto traces = TwoRankStep();
  const CollectiveMatch match =
      MatchCollectives(std::span<const trace::EventStore>(traces).first(1));
  EXPECT_FALSE(match.quality.valid);
  EXPECT_EQ(match.quality.matched, 0);
  EXPECT_EQ(match.quality.unmatched_spans, 2);
}

TEST(CollectiveMatch, AKeyTwiceOnARankIsAmbiguous) {
  auto traces = TwoRankStep();
  AddCollective(traces[1], 0, 620, 640, 1100);
  const CollectiveMatch match = MatchCollectives(traces);
  EXPECT_EQ(match.quality.matched, 1);
  EXPECT_EQ(match.quality.duplicate_spans, 3);
}

TEST(CollectiveMatch, RanksInDifferentOperationsDoNotMatch) {
  std::vector<trace::EventStore> traces = {MadeStore(0), MadeStore(1)};
  AddCollective(traces[0], 5, 100, 200, 8, 2, "all_reduce");
  AddCollective(traces[1], 5, 100, 200, 8, 2, "broadcast");
  const CollectiveMatch match = MatchCollectives(traces);
  EXPECT_EQ(match.quality.mismatched_spans, 2);
  EXPECT_EQ(match.quality.matched, 0);
}

TEST(CollectiveMatch, WithoutSequenceNumbersTheOrderCountsWhenRanksAgreeOnTheNumber) {
  std::vector<trace::EventStore> traces = {MadeStore(0), MadeStore(1)};
  for (const int64_t start : {300, 100}) {  // not in time order
    AddCollective(traces[0], trace::kNoSeq, start, start + 50, 8);
    AddCollective(traces[1], trace::kNoSeq, start + 10, start + 60, 8);
  }
  const CollectiveMatch match = MatchCollectives(traces);
  EXPECT_EQ(match.quality.matched_by_order, 2);
  ASSERT_EQ(match.collectives.size(), 2u);
  EXPECT_EQ(match.collectives[0].last_start_ns, 110);
  EXPECT_EQ(match.collectives[0].wait_caused_ns, 10);

  AddCollective(traces[1], trace::kNoSeq, 500, 550, 8);
  const CollectiveMatch uneven = MatchCollectives(traces);
  EXPECT_EQ(uneven.quality.matched, 0);
  EXPECT_EQ(uneven.quality.unmatched_spans, 5);
}

TEST(CollectiveMatch, RefusesPairsThatBreakCausality) {
  std::vector<trace::EventStore> traces = {MadeStore(0), MadeStore(1)};
  for (int64_t k = 0; k < 10; ++k) {
    AddCollective(traces[0], k, k * 1'000'000, k * 1'000'000 + 200'000, 8);
    AddCollective(traces[1], k, k * 1'000'000 + 500'000, k * 1'000'000 + 700'000, 8);
  }
  const CollectiveMatch match = MatchCollectives(traces);
  EXPECT_EQ(match.quality.acausal, 10);
  EXPECT_FALSE(match.quality.valid);
  // Within what a clock may be off, the same pattern is accepted.
  EXPECT_TRUE(MatchCollectives(traces, {.clock_tolerance_ns = 300'000}).quality.valid);
}

TEST(CollectiveMatch, AGroupOfOneRankCommunicatesWithNobody) {
  std::vector<trace::EventStore> traces = {MadeStore(0)};
  AddCollective(traces[0], 0, 100, 200, 8, 1);
  const CollectiveMatch match = MatchCollectives(traces);
  EXPECT_EQ(match.quality.spans, 0);
  EXPECT_FALSE(match.quality.valid);
}

TEST(CollectiveMatch, EmptyInputIsNotValidAndSaysWhy) {
  const CollectiveMatch match = MatchCollectives({});
  EXPECT_FALSE(match.quality.valid);
  EXPECT_EQ(match.quality.reason, "no collective spans in the traces");
}

TEST(BusFactor, FollowsTheOperation) {
  EXPECT_DOUBLE_EQ(BusFactor("all_reduce", 2), 1.0);
  EXPECT_DOUBLE_EQ(BusFactor("all_reduce", 4), 1.5);
  EXPECT_DOUBLE_EQ(BusFactor("all_gather", 4), 0.75);
  EXPECT_DOUBLE_EQ(BusFactor("broadcast", 4), 1.0);
  EXPECT_DOUBLE_EQ(BusFactor("all_reduce", 0), 0.0);
}

RC_GTEST_PROP(CollectiveMatchProperty, WaitAndTransferAreTheWholeSpan, ()) {
  const int ranks = *rc::gen::inRange(2, 5);
  std::vector<trace::EventStore> traces;
  for (int r = 0; r < ranks; ++r) {
    traces.push_back(MadeStore(r));
    for (int64_t k = 0; k < 4; ++k) {
      const int64_t start = *rc::gen::inRange<int64_t>(0, 1000);
      const int64_t length = *rc::gen::inRange<int64_t>(0, 300);
      AddCollective(traces.back(), k, start, start + length, 64, ranks);
    }
    traces.back().Sort();
  }
  const CollectiveMatch match = MatchCollectives(traces);
  RC_ASSERT(match.collectives.size() == 4u);
  for (const MatchedCollective& c : match.collectives) {
    int64_t waits = 0;
    for (const CollectiveOnRank& r : c.ranks) {
      RC_ASSERT(r.wait_ns >= 0 && r.transfer_ns >= 0);
      RC_ASSERT(r.wait_ns + r.transfer_ns == r.end_ns - r.start_ns);
      waits += r.wait_ns;
    }
    RC_ASSERT(c.wait_caused_ns == waits);  // the last arriver itself never waits
  }
  // The order of the stores has no influence.
  std::vector<trace::EventStore> reversed(traces.rbegin(), traces.rend());
  const CollectiveMatch other = MatchCollectives(reversed);
  for (size_t i = 0; i < match.collectives.size(); ++i) {
    RC_ASSERT(match.collectives[i].seq == other.collectives[i].seq);
    RC_ASSERT(match.collectives[i].arrival == other.collectives[i].arrival);
    RC_ASSERT(match.collectives[i].wait_caused_ns ==
              other.collectives[i].wait_caused_ns);
  }
}

}  // namespace
}  // namespace stepslack::analyze

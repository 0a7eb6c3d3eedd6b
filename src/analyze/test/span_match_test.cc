#include "span_match.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "point_to_point.h"

namespace stepslack::analyze {
namespace {

MatchSpan Span(int32_t rank, int64_t seq, int64_t start, int64_t group_size = 0,
               trace::StringId group = 1, trace::StringId op = 2) {
  MatchSpan span;
  span.rank = rank;
  span.seq = seq;
  span.start_ns = start;
  span.end_ns = start + 10;
  span.group_size = group_size;
  span.group = group;
  span.op = op;
  return span;
}

TEST(SpanMatch, PairsByGroupAndNumberWhateverTheOrder) {
  const std::vector<MatchSpan> spans = {Span(1, 8, 5), Span(0, 7, 90), Span(1, 7, 1),
                                        Span(0, 8, 3)};
  const SpanMatch match = MatchSpans(spans, 2);
  ASSERT_EQ(match.sets.size(), 2u);
  EXPECT_EQ(match.sets[0].outcome, MatchOutcome::kMatched);
  EXPECT_EQ(match.sets[0].seq, 7);
  EXPECT_FALSE(match.sets[0].by_order);
  EXPECT_EQ(std::vector<uint32_t>(match.Of(match.sets[0]).begin(),
                                  match.Of(match.sets[0]).end()),
            (std::vector<uint32_t>{1, 2}));
}

TEST(SpanMatch, MoreRanksThanTheGroupHasAreRefused) {
  const std::vector<MatchSpan> spans = {Span(0, 0, 0, 2), Span(1, 0, 0, 2),
                                        Span(2, 0, 0, 2), Span(3, 0, 0, 2)};
  const SpanMatch match = MatchSpans(spans, 4);
  ASSERT_EQ(match.sets.size(), 1u);
  EXPECT_EQ(match.sets[0].outcome, MatchOutcome::kTooMany);
}

TEST(SpanMatch, TheSameGroupsWithoutNumbersAreRefusedToo) {
  std::vector<MatchSpan> spans;
  for (int32_t r = 0; r < 4; ++r) spans.push_back(Span(r, trace::kNoSeq, 0, 2));
  const SpanMatch match = MatchSpans(spans, 4);
  ASSERT_EQ(match.sets.size(), 1u);
  EXPECT_EQ(match.sets[0].outcome, MatchOutcome::kTooMany);
}

TEST(SpanMatch, SaysWhatIsWrongWithAKey) {
  const std::vector<MatchSpan> spans = {
      Span(0, 1, 0),                                                // alone
      Span(0, 2, 0),        Span(0, 2, 5),          Span(1, 2, 0),  // twice on rank 0
      Span(0, 3, 0),        Span(1, 3, 0, 0, 1, 9),                 // another operation
      Span(0, -1, 0, 0, 4), Span(0, -1, 5, 0, 4),   Span(1, -1, 0, 0, 4)};
  const SpanMatch match = MatchSpans(spans, 2);
  ASSERT_EQ(match.sets.size(), 4u);
  EXPECT_EQ(match.sets[0].outcome, MatchOutcome::kIncomplete);
  EXPECT_EQ(match.sets[1].outcome, MatchOutcome::kDuplicate);
  EXPECT_EQ(match.sets[2].outcome, MatchOutcome::kMismatched);
  EXPECT_EQ(match.sets[3].outcome, MatchOutcome::kUneven);
  EXPECT_EQ(match.order.size(), spans.size());  // nothing is lost
}

PeerSpan Peer(int32_t rank, int32_t peer, int direction, int64_t start) {
  return {Span(rank, trace::kNoSeq, start), peer, direction};
}

TEST(PointToPoint, PairsTheKthSendWithTheKthReceive) {
  const std::vector<PeerSpan> spans = {Peer(0, 1, 1, 50),  Peer(0, 1, 1, 10),
                                       Peer(1, 0, -1, 20), Peer(1, 0, -1, 60),
                                       Peer(1, 0, 1, 30),  Peer(0, 1, -1, 35)};
  const PeerMatch match = MatchPeers(spans);
  EXPECT_EQ(match.pairs,
            (std::vector<std::pair<uint32_t, uint32_t>>{{1, 2}, {0, 3}, {4, 5}}));
  EXPECT_EQ(match.uneven + match.alone, 0);
}

TEST(PointToPoint, UnevenSidesAreCountedNotPaired) {
  const std::vector<PeerSpan> spans = {Peer(0, 1, 1, 0), Peer(0, 1, 1, 10),
                                       Peer(1, 0, -1, 20), Peer(2, 5, 1, 0)};
  const PeerMatch match = MatchPeers(spans);
  EXPECT_TRUE(match.pairs.empty());
  EXPECT_EQ(match.uneven, 3);
  EXPECT_EQ(match.alone, 1);
}

TEST(PointToPoint, WithoutDirectionTheTwoRanksPairByOrder) {
  const std::vector<PeerSpan> spans = {Peer(3, 1, 0, 0), Peer(1, 3, 0, 5)};
  const PeerMatch match = MatchPeers(spans);
  ASSERT_EQ(match.pairs.size(), 1u);
  EXPECT_EQ(match.pairs[0], (std::pair<uint32_t, uint32_t>{1, 0}));
}

}  // namespace
}  // namespace stepslack::analyze

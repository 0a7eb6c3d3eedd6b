#include "all_reduce_schedule.h"

#include <gtest/gtest.h>

#include "all_reduce_rules.h"

namespace stepslack::comm {
namespace {

size_t BytesSent(AllReduceAlgorithm algorithm, int rank, int ranks, size_t count) {
  size_t sent = 0;
  for (const Round& round : AllReduceSchedule(algorithm, rank, ranks, count)) {
    sent += round.send.end - round.send.begin;
  }
  return sent;
}

TEST(AllReduceSchedule, RingAndHalvingDoublingSendTheLeastThatIsPossible) {
  // 2 (n - 1) / n of 1200 elements: 1800 for four ranks.
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(BytesSent(AllReduceAlgorithm::kRing, rank, 4, 1200), 1800U);
    EXPECT_EQ(BytesSent(AllReduceAlgorithm::kHalvingDoubling, rank, 4, 1200), 1800U);
    EXPECT_EQ(BytesSent(AllReduceAlgorithm::kDoubling, rank, 4, 1200), 2400U);
  }
}

TEST(AllReduceSchedule, CountsOfRoundsAreThoseOfThePapers) {
  EXPECT_EQ(AllReduceSchedule(AllReduceAlgorithm::kRing, 3, 8, 100).size(), 14U);
  EXPECT_EQ(AllReduceSchedule(AllReduceAlgorithm::kHalvingDoubling, 3, 8, 100).size(),
            6U);
  EXPECT_EQ(AllReduceSchedule(AllReduceAlgorithm::kDoubling, 3, 8, 100).size(), 3U);
  // The root of a tree of eight has three children, which it hears and answers.
  EXPECT_EQ(AllReduceSchedule(AllReduceAlgorithm::kTree, 0, 8, 100).size(), 6U);
}

TEST(AllReduceSchedule, NothingIsSentAloneOrWithoutElements) {
  EXPECT_TRUE(AllReduceSchedule(AllReduceAlgorithm::kRing, 0, 1, 5).empty());
  EXPECT_TRUE(AllReduceSchedule(AllReduceAlgorithm::kTree, 0, 4, 0).empty());
}

TEST(AllReduceRules, TakeTheLastRuleThatBeginsBelowTheSize) {
  const auto rules = AllReduceRules::Parse("0:doubling,65536:ring");
  ASSERT_TRUE(rules.has_value());
  EXPECT_EQ(rules->For(4, 65535), AllReduceAlgorithm::kDoubling);
  EXPECT_EQ(rules->For(4, 65536), AllReduceAlgorithm::kRing);
  EXPECT_EQ(AllReduceRules::Parse("tree")->For(4, 1), AllReduceAlgorithm::kTree);
  EXPECT_EQ(AllReduceRules::Parse("")->For(4, 1 << 20),
            AllReduceAlgorithm::kHalvingDoubling);
  EXPECT_EQ(AllReduceRules::Parse("")->For(2, 1 << 20), AllReduceAlgorithm::kDoubling);
}

TEST(AllReduceRules, RefuseWhatMakesNoSense) {
  for (const char* text :
       {"star", "5:ring", "0:ring,0:tree", "0:", "0:ring,", "-1:ring"}) {
    EXPECT_FALSE(AllReduceRules::Parse(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace stepslack::comm

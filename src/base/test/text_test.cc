#include "stepslack/base/text.h"

#include <gtest/gtest.h>

#include <atomic>
#include <set>

#include "stepslack/base/parallel.h"
#include "stepslack/base/random.h"

namespace stepslack::base {
namespace {

TEST(TextTest, SuggestsTheNearestWordOnly) {
  const std::vector<std::string> verbs{"review", "verify", "doctor"};
  EXPECT_EQ(DidYouMean("reveiw", verbs), "review");
  EXPECT_EQ(DidYouMean("zzz", verbs), "");
}

TEST(TextTest, NumbersAreWholeStrings) {
  EXPECT_EQ(ParseDouble("1.5e3"), 1500.0);
  EXPECT_FALSE(ParseDouble("1.5x").has_value());
  EXPECT_FALSE(ParseInt("").has_value());
  EXPECT_FALSE(ParseInt("99999999999999999999").has_value());
}

TEST(TextTest, HumanKeepsFourDigits) {
  EXPECT_EQ(Human(0.23141), "0.2314");
  EXPECT_EQ(Human(12345.6), "12346");
  EXPECT_EQ(HumanDuration(0.35), "350 ms");
  EXPECT_EQ(HumanDuration(245), "4 min 05 s");
}

TEST(RandomTest, SequenceIsFixedBySeed) {
  // First output of xoshiro256** whose state is splitmix64 of seed 0 (reference code).
  Random random(0);
  EXPECT_EQ(random.Next(), 11091344671253066420ULL);
}

TEST(RandomTest, DerivedSeedsDifferByPurposeAndIndex) {
  std::set<uint64_t> seeds;
  for (uint64_t index = 0; index < 100; ++index) {
    seeds.insert(DeriveSeed(1, "epoch", index));
    seeds.insert(DeriveSeed(1, "rank", index));
    seeds.insert(DeriveSeed(2, "rank", index));
  }
  EXPECT_EQ(seeds.size(), 300u);
}

TEST(ParallelTest, EveryIndexIsVisitedOnce) {
  std::vector<std::atomic<int>> visits(1000);
  ParallelFor(visits.size(), 4, [&](size_t i) { ++visits[i]; });
  for (const auto& count : visits) EXPECT_EQ(count, 1);
}

}  // namespace
}  // namespace stepslack::base

#include "stepslack/analyze/pop_factors.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>

#include "made_ranks.h"

namespace stepslack::analyze {
namespace {

PopFactors Measure(const std::vector<RankTrace>& ranks) {
  return MeasurePop(ranks, MeasureCrossRank(ranks));
}

TEST(PopFactors, FollowTheirDefinitions) {
  // Useful: 300 and 550 of 720. Without transfers: rank 1 arrives at 400, rank 0
  // computes 200 from there and ends at 600 (rank 1 waits for it).
  const PopFactors pop = Measure(TwoRanks());
  EXPECT_EQ(pop.window, "whole trace");
  EXPECT_EQ(pop.runtime_ns, 720);
  EXPECT_EQ(pop.ideal_runtime_ns, 600);
  EXPECT_EQ(pop.by_rank[0].useful_ns, 300);
  EXPECT_EQ(pop.by_rank[1].useful_ns, 550);
  EXPECT_DOUBLE_EQ(*pop.parallel_efficiency, 425.0 / 720);
  EXPECT_DOUBLE_EQ(*pop.load_balance, 425.0 / 550);
  EXPECT_DOUBLE_EQ(*pop.communication_efficiency, 550.0 / 720);
  EXPECT_DOUBLE_EQ(*pop.serialisation, 550.0 / 600);
  EXPECT_DOUBLE_EQ(*pop.transfer, 600.0 / 720);
}

TEST(PopFactors, ComputeUnderATransferIsKept) {
  // Rank 0 computes through half of the transfer: 50 of 100 ns stay on the ideal
  // network.
  const std::vector<RankTrace> ranks = {MadeRank(0, 2, {{100, 200, 0}}, {{0, 150}}),
                                        MadeRank(1, 2, {{100, 200, 0}}, {{0, 100}})};
  const PopFactors pop = Measure(ranks);
  EXPECT_EQ(pop.ideal_runtime_ns, 150);
  EXPECT_DOUBLE_EQ(*pop.serialisation, 1.0);
  EXPECT_DOUBLE_EQ(*pop.transfer, 0.75);
}

TEST(PopFactors, AnotherPathMayBecomeTheLongestWithoutTransfers) {
  // Rank 0 loses 300 to a transfer with rank 1, then has 100 to do; rank 2 computes 350
  // and joins. Real end 400 + 20; ideal: rank 2 decides, 350, not 420 minus transfers.
  const std::vector<RankTrace> ranks = {
      MadeRank(0, 3, {{0, 300, 0, "all_reduce", "a", 0, 2}, {400, 420, 0}},
               {{300, 400}}),
      MadeRank(1, 3, {{0, 300, 0, "all_reduce", "a", 0, 2}, {400, 420, 0}},
               {{300, 400}}),
      MadeRank(2, 3, {{350, 420, 0}}, {{0, 350}})};
  const PopFactors pop = Measure(ranks);
  EXPECT_EQ(pop.runtime_ns, 420);
  EXPECT_EQ(pop.ideal_runtime_ns, 350);
}

TEST(PopFactors, UseStepsThatAllRanksHave) {
  auto ranks = TwoRanks();
  for (RankTrace& rank : ranks) AddStep(rank, 5, 450, 720);
  AddStep(ranks[1], 6, 720, 900);
  const PopFactors pop = Measure(ranks);
  EXPECT_EQ(pop.window, "steps 5 to 5");
  EXPECT_EQ(pop.runtime_ns, 270);
  EXPECT_EQ(pop.by_rank[0].useful_ns, 200);
  EXPECT_EQ(pop.by_rank[1].useful_ns, 150);
  EXPECT_EQ(pop.ideal_runtime_ns, 200);
}

TEST(PopFactors, InferredStepsThatDoNotStartTogetherAreNotUsed) {
  auto ranks = TwoRanks();
  AddStep(ranks[0], 0, 0, 300);
  AddStep(ranks[0], 1, 300, 720);
  AddStep(ranks[1], 0, 300, 720);  // the step that rank 0 calls 1
  EXPECT_EQ(Measure(ranks).window,
            "steps 0 to 0");  // the profiler numbers steps itself
  for (RankTrace& rank : ranks) rank.step_source = StepSource::kOptimizer;
  EXPECT_EQ(Measure(ranks).window, "whole trace");
}

TEST(PopFactors, WithoutComparedClocksOnlyTheTwoUpperFactorsStand) {
  std::vector<RankTrace> ranks = {MadeRank(0, 2, {}, {{0, 100}}),
                                  MadeRank(1, 2, {}, {{0, 50}, {80, 90}})};
  ranks[1].window_end_ns = 120;
  const PopFactors pop = Measure(ranks);
  EXPECT_EQ(pop.runtime_ns, 120);
  EXPECT_DOUBLE_EQ(*pop.load_balance, 0.8);
  EXPECT_DOUBLE_EQ(*pop.communication_efficiency, 100.0 / 120);
  EXPECT_FALSE(pop.serialisation.has_value());
  EXPECT_FALSE(pop.transfer.has_value());
  EXPECT_FALSE(pop.reasons.empty());
}

TEST(PopFactors, NothingIsMeasuredOnSomeOfTheRanksOrWithoutCompute) {
  auto missing = TwoRanks();
  for (RankTrace& rank : missing) rank.world_size = 3;
  EXPECT_FALSE(Measure(missing).parallel_efficiency.has_value());
  EXPECT_EQ(Measure(missing).reasons.front(), "traces of 1 of 3 ranks are missing: 2");

  auto idle = TwoRanks();
  for (RankTrace& rank : idle) rank.compute = {};
  EXPECT_FALSE(Measure(idle).parallel_efficiency.has_value());
  EXPECT_EQ(Measure(idle).reasons.front(), "no rank computes in the window");
  EXPECT_TRUE(ToJson(Measure(idle))["transfer"].is_null());
}

TEST(PopFactors, ManySpansWithoutPartnersForbidTheSplit) {
  auto ranks = TwoRanks();
  ranks[0].collectives.push_back({680, 700, 0, ranks[0].strings.Intern("all_gather"),
                                  ranks[0].strings.Intern("x"), 3, 8, 2, 1, -1});
  const PopFactors pop = Measure(ranks);
  EXPECT_TRUE(pop.communication_efficiency.has_value());
  EXPECT_FALSE(pop.transfer.has_value());
}

// Whatever the traces: factors in (0, 1], and the products hold.
RC_GTEST_PROP(PopFactorsProperty, FactorsMultiplyAndStayBetweenZeroAndOne, ()) {
  const int ranks = *rc::gen::inRange(2, 5);
  std::vector<RankTrace> made;
  std::vector<int64_t> now(static_cast<size_t>(ranks), 0);
  std::vector<std::vector<MadeSpan>> spans(now.size());
  std::vector<std::vector<trace::Interval>> compute(now.size());
  const int64_t collectives = *rc::gen::inRange<int64_t>(1, 10);
  for (int64_t k = 0; k < collectives; ++k) {
    int64_t last = 0;
    for (size_t r = 0; r < now.size(); ++r) {
      now[r] += *rc::gen::inRange<int64_t>(0, 30);  // idle
      const int64_t work = *rc::gen::inRange<int64_t>(1, 100);
      // Some of the compute goes on under the collective.
      compute[r].push_back({now[r], now[r] + work + *rc::gen::inRange<int64_t>(0, 40)});
      now[r] += work;
      last = std::max(last, now[r]);
    }
    const int64_t end = last + *rc::gen::inRange<int64_t>(1, 50);
    for (size_t r = 0; r < now.size(); ++r) {
      spans[r].push_back({now[r], end, k});
      now[r] = end;
    }
  }
  for (int r = 0; r < ranks; ++r) {
    const size_t i = static_cast<size_t>(r);
    made.push_back(MadeRank(r, ranks, spans[i], compute[i]));
  }
  const PopFactors pop = Measure(made);
  RC_ASSERT(pop.transfer.has_value());
  for (const double factor :
       {*pop.parallel_efficiency, *pop.load_balance, *pop.communication_efficiency,
        *pop.serialisation, *pop.transfer}) {
    RC_ASSERT(factor > 0 && factor <= 1);
  }
  RC_ASSERT(std::fabs(*pop.parallel_efficiency -
                      *pop.load_balance * *pop.serialisation * *pop.transfer) < 1e-12);
  RC_ASSERT(std::fabs(*pop.communication_efficiency -
                      *pop.serialisation * *pop.transfer) < 1e-12);
}

}  // namespace
}  // namespace stepslack::analyze

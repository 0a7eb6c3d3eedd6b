#include "stepslack/stats/search_schedule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "stepslack/stats/error_budget.h"
#include "stepslack/stats/factorial.h"
#include "stepslack/stats/hash_odds.h"
#include "stepslack/stats/slice_score.h"

namespace stepslack::stats {
namespace {

using Values = std::vector<double>;
using Trials = std::vector<int64_t>;

TEST(HyperbandBrackets, RoundsAsItsRuleSays) {
  // R = 9, eta = 3, s_max = 2. s = 1: ceil(3 / 2 * 3) = 5, floor(3 / 2) * 3 = 3.
  const auto ceil = HyperbandBrackets(9, 3, HyperbandRule::kCeil);
  ASSERT_EQ(ceil.size(), 3U);
  EXPECT_EQ(ceil[1][0].trials, 5);
  EXPECT_EQ(ceil[1][1].trials, 1);
  EXPECT_EQ(ceil[1][0].resource, 3);
  EXPECT_EQ(HyperbandBrackets(9, 3, HyperbandRule::kFloor)[1][0].trials, 3);
  EXPECT_TRUE(HyperbandBrackets(0, 3, HyperbandRule::kCeil).empty());
  EXPECT_TRUE(HyperbandBrackets(9, 1, HyperbandRule::kCeil).empty());
}

TEST(AshaLadder, PromotesTheTopShareOnceAndNeverNan) {
  AshaLadder ladder(2, false);
  EXPECT_EQ(ladder.Report(0, 0, NAN), Trials{});
  EXPECT_EQ(ladder.Report(1, 0, 5), Trials{1});
  EXPECT_EQ(ladder.Report(2, 0, 4), Trials{2});
  EXPECT_EQ(ladder.Report(2, 0, 1), Trials{});  // reported before
  EXPECT_EQ(ladder.Report(3, 0, 6), Trials{});  // the best two of four were promoted
  EXPECT_EQ(ladder.Report(1, 1, 5), Trials{});  // rungs are apart
}

TEST(FactorialContrast, SeparatesMainEffectsFromTheirInteraction) {
  // y = 10 + 2 a + 4 b + 8 a b, index "ab".
  const Values y = {10, 14, 12, 24};
  EXPECT_EQ(MainEffects(y, 2), (Values{6, 8}));
  EXPECT_EQ(FactorialContrast(y, 2, 0b11), 4);
  EXPECT_FALSE(FactorialContrast(y, 2, 0b100).has_value());
  EXPECT_TRUE(MainEffects(y, 3).empty());
}

TEST(HashOdds, KeepDigitsWhenTheyAreSmall) {
  EXPECT_NEAR(LshCandidateProbability(0.01, 1, 10) / 1e-20, 1, 1e-9);
  EXPECT_NEAR(LshCandidateProbability(0.5, 2, 1), 0.75, 1e-15);
  EXPECT_EQ(LshCandidateProbability(1, 3, 3), 1);
  EXPECT_NEAR(LshThreshold(16, 4), 0.5, 1e-15);
  EXPECT_EQ(HashCollisionOdds(1, 64), 0);
  EXPECT_NEAR(HashCollisionOdds(2, 8), 1 / 256.0, 1e-5);
  EXPECT_TRUE(std::isnan(MinHashDeviation(2, 8)));
}

TEST(SliceScore, WeighsErrorAgainstSize) {
  // Half of the rows, twice the mean error: 0.5 (2 - 1) - 0.5 (2 - 1) = 0.
  EXPECT_EQ(SliceScore({50, 100}, 100, 1, 0.5), 0);
  EXPECT_TRUE(std::isnan(SliceScore({0, 0}, 100, 1, 0.5)));
}

TEST(ErrorBudget, IsSpentAtABurnRateOfOne) {
  const auto budget = ComputeErrorBudget(0.75, 100, 25);
  EXPECT_EQ(budget->budget, 25);
  EXPECT_EQ(budget->spent_fraction, 1);
  EXPECT_EQ(budget->burn_rate, 1);
  EXPECT_FALSE(ComputeErrorBudget(1, 100, 0).has_value());
  EXPECT_FALSE(ComputeErrorBudget(0.9, 100, 101).has_value());
}

}  // namespace
}  // namespace stepslack::stats

#include "stepslack/stats/verdict.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "stepslack/stats/canary.h"

namespace stepslack::stats {
namespace {

using Values = std::vector<double>;

const Values kHundred = {99.8, 100.1, 100.0, 99.9, 100.2};

Values Scaled(const Values& values, double factor) {
  Values scaled = values;
  for (double& v : scaled) v *= factor;
  return scaled;
}

TEST(CompareRuns, CallsASlowerStepARegressionAndAHigherThroughputNot) {
  const auto slower = CompareRuns(kHundred, Scaled(kHundred, 1.05));
  EXPECT_EQ(ToString(slower.verdict), "regressed");
  EXPECT_NEAR(*slower.ratio.value, 1.05, 1e-12);
  EXPECT_FALSE(slower.more_runs.has_value());
  const auto faster = CompareRuns(kHundred, Scaled(kHundred, 1.05),
                                  {.better = base::Direction::kAtLeast});
  EXPECT_EQ(ToString(faster.verdict), "improved");
  EXPECT_EQ(ToString(CompareRuns(kHundred, Scaled(kHundred, 0.9)).verdict), "improved");
}

TEST(CompareRuns, ShowsEquivalenceWithinTheMarginEvenOfASignificantChange) {
  const auto same = CompareRuns(kHundred, kHundred);
  EXPECT_EQ(ToString(same.verdict), "no change");
  // 0.5 % is significant here (interval about +-0.23 %) but below the margin of 2 %.
  const auto small = CompareRuns(kHundred, Scaled(kHundred, 1.005));
  EXPECT_GT(*small.ratio.low, 1);
  EXPECT_EQ(ToString(small.verdict), "no change");
  EXPECT_EQ(
      ToString(CompareRuns(kHundred, Scaled(kHundred, 1.005), {.margin = 0}).verdict),
      "regressed");
}

TEST(CompareRuns, NamesTheRunsThatWouldDecide) {
  const Values noisy = {90, 110, 100};
  const auto decision = CompareRuns(noisy, noisy);
  EXPECT_EQ(ToString(decision.verdict), "inconclusive");
  // Deviation of the logarithms 0.1004, change ln 1.02: 16 (0.1004 / 0.0198)^2 = 411 a
  // side by the rule of thumb, 404 exactly; three are there.
  ASSERT_TRUE(decision.more_runs.has_value());
  EXPECT_NEAR(static_cast<double>(*decision.more_runs), 401, 8);
  EXPECT_NE(decision.reason.find("more runs a side give 80 % power"),
            std::string::npos);
}

TEST(CompareRuns, IsInconclusiveWithoutAnInterval) {
  EXPECT_EQ(CompareRuns(Values{1}, Values{2}).verdict, ChangeVerdict::kInconclusive);
  const auto negative = CompareRuns(kHundred, Values{-1, 2});
  EXPECT_EQ(negative.verdict, ChangeVerdict::kInconclusive);
  EXPECT_FALSE(negative.reason.empty());
}

TEST(ComparePairedRuns, SeesAChangeThatSeedsHide) {
  const Values before = {50, 100, 200, 400};
  const Values after = {51.6, 103.1, 206, 411.9};
  EXPECT_EQ(CompareRuns(before, after).verdict, ChangeVerdict::kInconclusive);
  EXPECT_EQ(ComparePairedRuns(before, after).verdict, ChangeVerdict::kRegressed);
}

TEST(JudgeCanary, NamesTheFourOutcomes) {
  const auto judge = [](const Values& canary, const Values& baseline) {
    return ToString(JudgeCanary(canary, baseline).canary_class);
  };
  Values base;
  for (int i = 0; i < 10; ++i) base.push_back(100 + 0.1 * i);
  EXPECT_EQ(judge(Scaled(base, 1.1), base), "High");
  EXPECT_EQ(judge(Scaled(base, 0.9), base), "Low");
  EXPECT_EQ(judge(base, base), "Pass");
  EXPECT_EQ(judge({}, base), "Nodata");
  EXPECT_EQ(judge(Values{NAN}, base), "Error");
  EXPECT_EQ(judge(Values{1, 1}, Values{1, 1}), "Pass");
}

TEST(ScoreCanary, CountsErrorsAgainstTheGroup) {
  using enum CanaryClass;
  EXPECT_EQ(ScoreCanary({{"a", {{kPass, kError}, 1, false}}}).summary, 50);
  EXPECT_EQ(ScoreCanary({{"a", {{kPass, kPass, kPass}, 1, false}}}).summary, 100);
}

TEST(ScoreCanary, FailsClosed) {
  using enum CanaryClass;
  EXPECT_EQ(ScoreCanary({}).reason, "no metric");
  const auto critical =
      ScoreCanary({{"a", {{kPass, kHigh}, 1, true}}, {"b", {{kPass}, 9, false}}});
  EXPECT_EQ(critical.summary, 0);
  EXPECT_EQ(critical.reason, "a metric of the critical group a is not Pass");
  EXPECT_EQ(ScoreCanary({{"a", {{kPass, kNodata}, 1, false}}}).summary, 0);
  EXPECT_EQ(ScoreCanary({{"a", {{kPass}, 0, false}}}).reason, "all weights are 0");
}

}  // namespace
}  // namespace stepslack::stats

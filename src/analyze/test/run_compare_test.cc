#include "stepslack/analyze/run_compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace stepslack::analyze {
namespace {

std::vector<RunOutcome> Runs(const std::vector<double>& minutes, int failed = 0) {
  std::vector<RunOutcome> runs;
  for (const double m : minutes) {
    RunOutcome run;
    run.status = RunStatus::kSuccess;
    run.ttt_min = run.watched_min = m;
    runs.push_back(run);
  }
  for (int i = 0; i < failed; ++i) {
    RunOutcome run;
    run.status = RunStatus::kAborted;
    run.ttt_min = run.watched_min = 1.0;
    runs.push_back(run);
  }
  return runs;
}

RunComparison Compare(const std::vector<RunOutcome>& a,
                      const std::vector<RunOutcome>& b, double margin = 0.02) {
  RunCompareOptions options;
  options.margin = margin;
  const auto comparison = CompareRuns(a, b, options);
  EXPECT_TRUE(comparison.has_value());
  return comparison.value_or(RunComparison{});
}

// Every run of B is slower than every run of A: 1 of C(6, 3) = 20 arrangements a side.
TEST(RunCompare, SeparateSamplesGiveTheSmallestPossibleP) {
  const RunComparison result = Compare(Runs({10, 10.1, 10.2}), Runs({12, 12.1, 12.3}));
  EXPECT_DOUBLE_EQ(result.mann_whitney.u.value(), 0);
  EXPECT_NEAR(result.mann_whitney_p.value(), 0.1, 1e-12);
  EXPECT_NEAR(result.permutation_p.value(), 0.1, 1e-12);
  EXPECT_DOUBLE_EQ(result.cliffs_delta.value(), 1);
  // Differences: 1.8 1.9 2.0 1.9 2.0 2.1 2.1 2.2 2.3, of which 2.0 is in the middle.
  EXPECT_NEAR(result.hodges_lehmann.value.value(), 2.0, 1e-12);
  EXPECT_NEAR(result.ratio.value.value(),
              std::cbrt(12 * 12.1 * 12.3 / (10 * 10.1 * 10.2)), 1e-12);
  EXPECT_EQ(result.verdict, EffectVerdict::kRegressed);
  EXPECT_TRUE(result.reason.starts_with("regressed: B / A 1.20")) << result.reason;
}

TEST(RunCompare, SwappedSidesImprove) {
  const RunComparison result = Compare(Runs({12, 12.1, 12.3}), Runs({10, 10.1, 10.2}));
  EXPECT_EQ(result.verdict, EffectVerdict::kImproved);
  EXPECT_DOUBLE_EQ(result.cliffs_delta.value(), -1);
}

TEST(RunCompare, RealButTinyChangeIsNoChangeWithinTheMargin) {
  const std::vector<RunOutcome> a = Runs({10, 10.001, 10.002, 9.999});
  const std::vector<RunOutcome> b = Runs({10.02, 10.021, 10.022, 10.019});
  const RunComparison result = Compare(a, b);
  EXPECT_GT(result.ratio.low.value(), 1);
  EXPECT_EQ(result.verdict, EffectVerdict::kNoChange);
  EXPECT_TRUE(result.reason.starts_with("no change within 2 %")) << result.reason;
  EXPECT_EQ(Compare(a, b, 0).verdict, EffectVerdict::kRegressed);
}

TEST(RunCompare, NoiseIsInconclusiveAndSaysHowManyMoreRuns) {
  const RunComparison result = Compare(Runs({9, 10, 11}), Runs({9.2, 10.4, 11.3}));
  EXPECT_EQ(result.verdict, EffectVerdict::kInconclusive);
  // 2 (z_.975 + z_.8)^2 (0.1 / log 1.02)^2 is about 400 at a deviation of about 0.1.
  ASSERT_TRUE(result.more_runs.has_value());
  EXPECT_NEAR(static_cast<double>(*result.more_runs), 410, 30);
  EXPECT_EQ(*result.runs_needed, *result.more_runs + 3);
  EXPECT_NE(result.reason.find(std::to_string(*result.more_runs) +
                               " more runs a side give 80 % power"),
            std::string::npos)
      << result.reason;
}

TEST(RunCompare, FasterButLessReliableIsNoImprovement) {
  const RunComparison result =
      Compare(Runs({12, 12.1, 12.3}), Runs({10, 10.1, 10.2}, 1));
  EXPECT_EQ(result.verdict, EffectVerdict::kInconclusive);
  EXPECT_EQ(result.reason,
            "inconclusive: by time alone improved, but 0 of 3 runs of A and 1 of 4 of "
            "B did not reach the target");
}

TEST(RunCompare, SideThatNeverArrivesIsJudgedByTheLogRankTest) {
  std::vector<RunOutcome> b = Runs({}, 5);
  for (RunOutcome& run : b) run.watched_min = 100.0;
  const RunComparison result = Compare(Runs({1, 2, 3, 4, 5}), b);
  EXPECT_FALSE(result.ratio.value.has_value());
  EXPECT_FALSE(result.mann_whitney_p.has_value());
  EXPECT_EQ(result.verdict, EffectVerdict::kRegressed);
  EXPECT_TRUE(result.reason.starts_with(
      "5 of 5 runs of A and 0 of 5 of B reached the target (log-rank p 0.0"))
      << result.reason;
}

TEST(RunCompare, TooManyArrangementsLeaveThePermutationTestOut) {
  std::vector<double> minutes;
  for (int i = 0; i < 12; ++i) minutes.push_back(10 + i);
  const RunComparison result = Compare(Runs(minutes), Runs(minutes));
  EXPECT_FALSE(result.permutation_p.has_value());
  EXPECT_EQ(result.no_permutation, "C(24, 12) is more than 300000 arrangements");
  EXPECT_TRUE(result.mann_whitney.ties);
  EXPECT_EQ(result.mann_whitney_p, result.mann_whitney.p_asymptotic);
}

TEST(RunCompare, SingleRunsHaveARatioAndNoVerdict) {
  const RunComparison result = Compare(Runs({10}), Runs({20}));
  EXPECT_DOUBLE_EQ(result.ratio.value.value(), 2);
  EXPECT_EQ(result.verdict, EffectVerdict::kInconclusive);
  EXPECT_FALSE(result.more_runs.has_value());
}

TEST(RunCompare, EmptySidesAndBadOptionsAreRefused) {
  EXPECT_EQ(CompareRuns({}, Runs({1})).error().id, "ANL-0182");
  RunCompareOptions options;
  options.margin = std::nan("");
  EXPECT_EQ(CompareRuns(Runs({1}), Runs({1}), options).error().id, "ANL-0183");
  EXPECT_EQ(CompareSets(RunSetReport{}, 0, 7).error().id, "ANL-0182");
}

TEST(RunCompare, JsonHasTheNamedKeys) {
  const RunSetReport report = GroupRuns(Runs({10, 11, 12}));
  const auto comparison = CompareSets(report, 0, 0);
  ASSERT_TRUE(comparison.has_value());
  const base::Json json = ToJson(report, *comparison);
  for (const char* key : {"runs", "sets", "tests", "verdict"}) {
    EXPECT_TRUE(json.Has(key)) << key;
  }
  for (const char* key :
       {"ratio", "mann_whitney_p", "welch_p", "permutation_p", "hodges_lehmann"}) {
    EXPECT_TRUE(json["tests"].Has(key)) << key;
  }
  EXPECT_DOUBLE_EQ(json["tests"]["ratio"]["value"].AsDouble(), 1);
  EXPECT_DOUBLE_EQ(json["tests"]["hodges_lehmann"].AsDouble(), 0);
  EXPECT_EQ(json["a"]["name"].AsString(), report.sets[0].name);
}

}  // namespace
}  // namespace stepslack::analyze

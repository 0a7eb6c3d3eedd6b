#include "stepslack/render/run_compare_report.h"

#include <gtest/gtest.h>

namespace stepslack::render {
namespace {

std::vector<analyze::RunOutcome> Runs(std::vector<double> minutes) {
  std::vector<analyze::RunOutcome> runs;
  for (const double value : minutes) {
    analyze::RunOutcome run;
    run.benchmark = "bert";
    run.system = "sys";
    run.status = analyze::RunStatus::kSuccess;
    run.ttt_min = value;
    run.watched_min = value;
    runs.push_back(run);
  }
  return runs;
}

TEST(RunCompareReport, TextStatesVerdictSidesAndTests) {
  const auto comparison = analyze::CompareRuns(Runs({10, 10.1, 10.2, 9.9, 10}),
                                               Runs({20, 20.2, 20.4, 19.8, 20}));
  ASSERT_TRUE(comparison.has_value());
  const std::string text = RenderRunCompareText(*comparison);
  // Twice the minutes on every run: the ratio of the geometric means is exactly 2.
  EXPECT_EQ(text.find("regressed: "), 0U) << text;
  EXPECT_NE(text.find("ratio B / A"), std::string::npos) << text;
  EXPECT_NE(text.find(" 2 "), std::string::npos) << text;
  // All of B behind all of A: 2 of the 252 arrangements are as extreme.
  EXPECT_NE(text.find("0.0079"), std::string::npos) << text;
}

TEST(RunCompareReport, AMissingTestIsNamedAsAbsent) {
  const auto comparison = analyze::CompareRuns(Runs({10}), Runs({20}));
  ASSERT_TRUE(comparison.has_value());
  const Document document = RunCompareDocument(*comparison);
  const std::string text = RenderMarkdown(document);
  EXPECT_NE(text.find("inconclusive"), std::string::npos) << text;
  EXPECT_NE(text.find("absent"), std::string::npos) << text;
}

}  // namespace
}  // namespace stepslack::render

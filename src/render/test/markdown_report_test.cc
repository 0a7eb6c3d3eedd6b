#include "stepslack/render/markdown_report.h"

#include <gtest/gtest.h>

#include "sample_report.h"

namespace stepslack::render {
namespace {

TEST(EscapeMarkdown, KeepsTextFromBecomingMarkup) {
  EXPECT_EQ(EscapeMarkdown("a*b*"), "a\\*b\\*");
  EXPECT_EQ(EscapeMarkdown("<script>|x|"), "\\<script\\>\\|x\\|");
  EXPECT_EQ(EscapeMarkdown("split.leaked_rows_share"), "split.leaked_rows_share");
  EXPECT_EQ(EscapeMarkdown("_x_"), "\\_x\\_");
  EXPECT_EQ(EscapeMarkdown("two\nlines"), "two lines");
  EXPECT_EQ(EscapeMarkdown("[a](b) `c` \\"), "\\[a\\](b) \\`c\\` \\\\");
}

TEST(RenderMemo, HasFourNumberedPartsWithTheirFields) {
  const auto memo = RenderMemo(SampleReview());
  ASSERT_TRUE(memo.has_value());
  EXPECT_EQ(
      *memo,
      "# Review memo: IR-drop hotspot ordering, U-Net 64 x 64\n"
      "\n## 1 Symptom\n\n"
      "- **Watched metric**: scaling efficiency 0.674 \\[0.651, 0.702\\] against 0.8\n"
      "- **Failing workload slice**: strong scaling, 2 ranks, batch 16 for each rank\n"
      "- **Failing layer**: runtime\n"
      "- **Revision tags**: dataset 9f2b6c1d0e3a, model f2b6c1d0e3a4, runtime "
      "2b6c1d0e3a48, hardware b6c1d0e3a485\n"
      "\n## 2 Mechanism hypothesis\n\n"
      "- **Primary mechanism**: rank 1 waits for its data batch (R03)\n"
      "- **Competing hypotheses**: hardware bottleneck (H01): undecided\n"
      "- **Missing evidence**: core frequency of both ranks\n"
      "\n## 3 Proposed action\n\n"
      "- **Minimal reversible change**: prefetch depth 1 -\\> 4 (runtime)\n"
      "- **Expected movement**: efficiency to 0.87, quality unchanged\n"
      "- **Regression risk**: memory grows by 48 MB for each rank\n"
      "\n## 4 Signoff\n\n"
      "- **Re-run artifact**: multi-node training log, scaling chart, comms profile\n"
      "- **Required owners**: training infra owner, cluster engineer, ML platform "
      "lead\n"
      "- **Final decision**: bounded pilot\n");
}

TEST(RenderMemo, RefusesAnEmptyFieldByName) {
  evidence::Review review = SampleReview();
  review.memo.regression_risk = "  ";
  const auto memo = RenderMemo(review);
  ASSERT_FALSE(memo.has_value());
  EXPECT_EQ(memo.error().id, "RENDER-0001");
  EXPECT_EQ(memo.error().what, "the field 'Regression risk' is empty");
  EXPECT_EQ(memo.error().where, "review memo, 3 Proposed action");
}

TEST(RenderMemo, RefusesAMissingTag) {
  evidence::Review review = SampleReview();
  review.tags.runtime.clear();
  EXPECT_EQ(RenderMemo(review).error().what, "the field 'Revision tags' is empty");
}

TEST(RenderDecision, HasItsFiveFields) {
  const auto memo = RenderDecision(SampleReview());
  ASSERT_TRUE(memo.has_value());
  EXPECT_EQ(*memo,
            "# Decision memo: IR-drop hotspot ordering, U-Net 64 x 64\n\n"
            "**Decision: bounded pilot**\n\n"
            "- **Metric**: efficiency 0.674 against 0.8\n"
            "- **Root cause**: input pipeline starves rank 1\n"
            "- **Fix**: prefetch depth 4\n"
            "- **Validation**: re-run of 40 steps on 2 ranks\n"
            "- **Owners**: training infra owner, cluster engineer, ML platform lead\n");
}

TEST(RenderMarkdown, ListsRequirementsWorstFirst) {
  const std::string text = RenderMarkdown(SampleReport());
  const size_t latency = text.find("| Inference latency p95 for a map (latency) |");
  const size_t efficiency = text.find("| Parallel efficiency");
  const size_t exposed = text.find(
      "| Exposed communication share (exposed) | 0.062 "
      "\\[0.055, 0.071\\] (95 %, n = 40 steps) | \u2264 0.1 | "
      "+38.0 % | OK |");
  ASSERT_NE(latency, std::string::npos);
  ASSERT_NE(exposed, std::string::npos);
  EXPECT_LT(latency, efficiency);
  EXPECT_LT(efficiency, exposed);
  EXPECT_NE(text.find("### 1 Symptom"), std::string::npos);
}

TEST(RenderMarkdown, KeepsParagraphsFromBecomingBlocks) {
  Report report = SampleReport();
  report.review.decision_reasons = {"- 3 % lost"};
  report.sections = {{"s", "S", {"# head", "12. item", "-5 mV", "plain"}, {}, {}}};
  const std::string text = RenderMarkdown(report);
  EXPECT_NE(text.find("- \\- 3 % lost\n"), std::string::npos);
  EXPECT_NE(text.find("\n\\# head\n\n12\\. item\n\n\\-5 mV\n\nplain\n"),
            std::string::npos);
}

TEST(RenderMarkdown, SaysHowManyRowsItLeavesOut) {
  Report report = SampleReport();
  Table table{"long", {"n"}, {}};
  for (int i = 0; i < 101; ++i) table.rows.push_back({static_cast<double>(i)});
  report.sections = {{"s", "S", {"text"}, {}, {table}}};
  const std::string text = RenderMarkdown(report);
  EXPECT_NE(text.find("100 of 101 rows"), std::string::npos);
  EXPECT_EQ(text.find("| 100 |"), std::string::npos);
}

TEST(RenderMarkdown, ShowsWhyAMemoIsRefused) {
  Report report = SampleReport();
  report.review.decision_memo.fix.clear();
  EXPECT_NE(RenderMarkdown(report).find("Refused: the field 'Fix' is empty."),
            std::string::npos);
}

}  // namespace
}  // namespace stepslack::render

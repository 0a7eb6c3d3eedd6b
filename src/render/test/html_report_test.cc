#include "stepslack/render/html_report.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "sample_report.h"
#include "tag_balance.h"

namespace stepslack::render {
namespace {

bool Has(const std::string& html, std::string_view text) {
  return html.find(text) != std::string::npos;
}

TEST(RenderHtml, IsWellFormedWithResolvedReferences) {
  EXPECT_EQ(Malformed(RenderHtml(SampleReport())), "");
  EXPECT_EQ(Malformed(RenderHtml(Report())), "");
}

TEST(RenderHtml, CanNotContactANetwork) {
  const std::string html = RenderHtml(SampleReport());
  EXPECT_TRUE(
      Has(html,
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
          "&#39;none&#39;; img-src data:; style-src &#39;unsafe-inline&#39;\"/>"));
  EXPECT_TRUE(Has(html, "This file cannot contact a network"));
  EXPECT_FALSE(Has(html, "<script"));
  EXPECT_FALSE(Has(html, "http://"));
  EXPECT_FALSE(Has(html, "https://"));
}

TEST(RenderHtml, GivesTheSameBytesAgain) {
  EXPECT_EQ(RenderHtml(SampleReport()), RenderHtml(SampleReport()));
}

TEST(RenderHtml, StatesDecisionLayerAndVerdictsInWords) {
  const std::string html = RenderHtml(SampleReport());
  EXPECT_TRUE(Has(html, "<strong>BOUNDED PILOT</strong>"));
  EXPECT_TRUE(Has(html, "1 ERROR, 1 NOT RUN, 1 FAIL, 1 HOLD, 4 OK"));
  EXPECT_TRUE(Has(html, "First failing layer: <b>runtime</b>"));
  EXPECT_TRUE(Has(html, "</span> HOLD</span>"));
  EXPECT_TRUE(Has(html, "about 35 families in all would decide"));
}

TEST(RenderHtml, SortsRequirementsWorstFirst) {
  const std::string html = RenderHtml(SampleReport());
  size_t before = 0;
  for (const char* title :
       {"<b>Inference latency p95", "<b>Energy for a map", "<b>Parallel efficiency",
        "<b>Hotspot recall", "<b>Leaked rows", "<b>Relative MAE", "<b>Time to relative",
        "<b>Exposed communication"}) {
    const size_t at = html.find(title, html.find("<main>"));
    ASSERT_NE(at, std::string::npos) << title;
    EXPECT_GT(at, before) << title;
    before = at;
  }
}

TEST(RenderHtml, HoldsEveryDocumentAndFullDigests) {
  const Report report = SampleReport();
  const std::string html = RenderHtml(report);
  for (const char* text :
       {"1 Symptom", "2 Mechanism hypothesis", "3 Proposed action", "4 Signoff",
        "FIRST FAILING LAYER", "PRIMARY ARTIFACT", "Root cause", "Rollback plan",
        "Evidence checklist", "Review prompts", "Risk bars", "not measured"}) {
    EXPECT_TRUE(Has(html, text)) << text;
  }
  EXPECT_TRUE(Has(html, report.review.tags.dataset));
  for (const auto& artifact : report.review.artifacts) {
    EXPECT_TRUE(Has(html, artifact.sha256));
  }
}

TEST(RenderHtml, PutsADataTableAfterEveryFigure) {
  const std::string html = RenderHtml(SampleReport());
  size_t figures = 0;
  for (size_t at = html.find("<figure"); at != std::string::npos;
       at = html.find("<figure", at + 1)) {
    const size_t end = html.find("</figure>", at);
    EXPECT_LT(html.find("Data table (", at), end);
    ++figures;
  }
  EXPECT_EQ(figures, 8u);
}

TEST(RenderHtml, EscapesEveryTextOfAUser) {
  const std::string evil = "<script>alert('x')</script><img src=x onerror=alert(1)>";
  Report report = SampleReport();
  evidence::Review& review = report.review;
  review.framing = {evil, evil, evil, evil, {{evil, evil}}, {evil}, evil};
  review.tags = {evil, evil, evil, evil};
  review.created_utc = evil;
  review.decision_reasons = {evil};
  for (auto& result : review.requirements) {
    result.requirement.id = result.requirement.title = result.requirement.unit = evil;
    result.requirement.owner = result.artifact = evil;
    if (result.estimate) {
      result.estimate->unit = result.estimate->n_of = result.estimate->method = evil;
    }
  }
  review.checklist = {{evil, evil, base::Verdict::kMet, evil, evil}};
  review.prompts = {{evil, evil, evil}};
  review.risks = {{evil, 0.5, 1, evil}};
  review.memo.watched_metrics = review.decision_memo.fix = review.capsule.owner = evil;
  review.artifacts = {{evil, evil, evil}};
  review.diagnosis.reason = review.diagnosis.layer = evil;
  review.diagnosis.path = review.diagnosis.missing = {evil};
  report.sections.push_back({evil, evil, {evil}, {}, {{evil, {evil}, {{evil}}}}});
  const std::string html = RenderHtml(report);
  EXPECT_EQ(Malformed(html), "");
  EXPECT_FALSE(Has(html, "<script"));
  EXPECT_FALSE(Has(html, "<img"));
}

TEST(RenderHtml, KeepsAnchorsUniqueWhenSectionIdsClash) {
  Report report;
  for (const char* id : {"maps", "maps", "requirements", "", "F1_h0", "a b/c"}) {
    report.sections.push_back({id, "Section", {"text"}, {SampleMaps()}, {}});
  }
  const std::string html = RenderHtml(report);
  EXPECT_EQ(Malformed(html), "");
  EXPECT_TRUE(Has(html, "id=\"maps-2\""));
  EXPECT_TRUE(Has(html, "id=\"requirements-2\""));
  EXPECT_TRUE(Has(html, "id=\"a-b-c\""));
}

TEST(RenderHtml, SaysThatAnEmptyFieldRefusesTheDocument) {
  Report report = SampleReport();
  report.review.memo.regression_risk.clear();
  EXPECT_TRUE(
      Has(RenderHtml(report), "this field is empty, so the document is refused"));
  EXPECT_FALSE(Has(RenderHtml(SampleReport()), "so the document is refused"));
}

Report BigReport(int sections, int rows) {
  Report report = SampleReport();
  Table table{"long table", {"name", "value", "estimate"}, {}};
  for (int i = 0; i < rows; ++i) {
    table.rows.push_back(
        {fmt::format("row {}", i), i / 7.0, base::Exact(i, "ms", 1, "rows", "count")});
  }
  MapChart maps = SampleMaps();
  for (MapImage& image : maps.images) {
    image.height = image.width = 512;
    image.values.clear();
    for (int i = 0; i < 512 * 512; ++i) {
      image.values.push_back(static_cast<float>((i * 7919) % 10007));
    }
  }
  for (int i = 0; i < sections; ++i) {
    report.sections.push_back({fmt::format("s{}", i),
                               fmt::format("Section {}", i),
                               {"A finding."},
                               {SampleTimeline(), maps},
                               {table}});
  }
  return report;
}

TEST(RenderHtml, StaysUnderTwoMegabytesAndSaysWhatItCut) {
  const std::string html = RenderHtml(BigReport(16, 4000));
  EXPECT_LE(html.size(), kMostHtmlBytes);
  EXPECT_EQ(Malformed(html), "");
  EXPECT_TRUE(Has(html, "To stay under 2 MB this page shows at most"));
  EXPECT_TRUE(Has(html, "of 4000 rows are shown; the JSON report holds all."));
  EXPECT_TRUE(Has(html, "shown coarser"));
}

TEST(RenderHtml, StaysUnderTwoMegabytesForThousandsOfSectionsAndRequirements) {
  Report report = SampleReport();
  const std::string words(3000, 'w');
  for (int i = 0; i < 2000; ++i) {
    report.sections.push_back({"s", words, {words, words}, {SampleLineChart()}, {}});
    report.review.requirements.push_back(report.review.requirements[0]);
    report.review.artifacts.push_back({words, words, words});
  }
  const std::string html = RenderHtml(report);
  EXPECT_LE(html.size(), kMostHtmlBytes);
  EXPECT_EQ(Malformed(html), "");
  EXPECT_TRUE(Has(html, "of 2005 sections"));
}

TEST(RenderHtml, ShowsASmallReportInFull) {
  EXPECT_LT(RenderHtml(SampleReport()).size(), 300'000u);
  EXPECT_FALSE(Has(RenderHtml(SampleReport()), "To stay under"));
}

}  // namespace
}  // namespace stepslack::render

#include "stepslack/render/text_report.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sample_report.h"
#include "stepslack/base/text.h"
#include "stepslack/base/utf8.h"
#include "text_table.h"

namespace stepslack::render {
namespace {

using ::testing::ElementsAre;

std::string WithoutColour(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b') {
      i = text.find('m', i);
    } else {
      out += text[i];
    }
  }
  return out;
}

TEST(FormatTable, AlignsColumns) {
  const std::vector<TextColumn> columns = {
      {"id", false, 4}, {"n", true, 2}, {"x", false, 2}};
  EXPECT_THAT(FormatTable(columns,
                          {{{"a", ""}, {"100", ""}, {"left", ""}},
                           {{"longer", ""}, {"1", ""}, {"", ""}}},
                          80),
              ElementsAre("id        n  x", "a       100  left", "longer    1"));
}

TEST(FormatTable, CutsTheWidestColumnUntilTheLineFits) {
  const auto lines = FormatTable({{"id", false, 4}, {"text", false, 6}},
                                 {{{"abcd", ""}, {"a long text that is cut", ""}}}, 20);
  EXPECT_EQ(lines[1], "abcd  a long text...");
  EXPECT_EQ(lines[1].size(), 20u);
}

TEST(FormatTable, CountsCodePointsNotBytes) {
  EXPECT_THAT(
      FormatTable({{"a", false, 2}, {"b", false, 2}},
                  {{{"\u00e9\u00e9", ""}, {"x", ""}}, {{"ab", ""}, {"y", ""}}}, 80),
      ElementsAre("a   b", "\u00e9\u00e9  x", "ab  y"));
}

TEST(WrapColumns, BreaksAtSpacesAndLongWords) {
  EXPECT_THAT(WrapColumns("one two three", 7, 9), ElementsAre("one two", "three"));
  EXPECT_THAT(WrapColumns("abcdefghij", 4, 9), ElementsAre("abcd", "efgh", "ij"));
  EXPECT_THAT(WrapColumns("one two three four", 7, 2),
              ElementsAre("one two", "thre..."));
  EXPECT_THAT(WrapColumns("   ", 7, 2), ElementsAre());
}

TEST(RenderText, ShowsASmallReviewExactly) {
  Report report;
  report.review.framing.title = "Tiny";
  report.review.decision = evidence::Decision::kEscalate;
  report.review.decision_reasons = {"nothing was measured"};
  report.review.diagnosis.layer = "undetermined";
  report.review.diagnosis.reason = "no facts";
  report.review.tags = {"aaaaaaaaaaaabbbb", "cccc", "dddd", "eeee"};
  const base::Requirement requirement{.id = "mae",
                                      .title = "MAE",
                                      .metric = "mae",
                                      .direction = base::Direction::kAtMost,
                                      .bound = 2,
                                      .unit = "mV",
                                      .owner = "lead"};
  const base::Estimate estimate{.value = 1.5,
                                .low = 1.25,
                                .high = 1.75,
                                .unit = "mV",
                                .confidence = 0.95,
                                .n = 12,
                                .n_of = "maps",
                                .method = "t"};
  report.review.requirements = {
      {requirement, estimate, base::Evaluate(requirement, estimate), ""}};
  EXPECT_EQ(RenderText(report, false),
            "Stepslack review: Tiny\n"
            "\n"
            "Decision  ESCALATE\n"
            "          - nothing was measured\n"
            "Layer     undetermined: no facts\n"
            "Tags      dataset aaaaaaaaaaaa  model cccc  runtime dddd  hardware eeee\n"
            "\n"
            "Requirements, worst slack first (1 OK)\n"
            "  id   estimate              n  bound      slack  verdict  owner\n"
            "  mae  1.5 mV [1.25, 1.75]  12  <= 2 mV  +25.0 %  OK       lead\n");
}

TEST(RenderText, StaysWithinSixtyLinesOfAHundredColumns) {
  Report report = SampleReport();
  evidence::Review& review = report.review;
  const std::string longest(400, 'w');
  review.framing.title = longest;
  review.diagnosis.reason = longest;
  review.decision_reasons.assign(30, longest);
  for (int i = 0; i < 60; ++i) {
    review.requirements.push_back(review.requirements[static_cast<size_t>(i) % 8]);
    review.requirements.back().requirement.owner = longest;
    review.artifacts.push_back({longest, longest, longest});
    report.sections.push_back({"s", longest, {longest}, {}, {}});
  }
  const std::string text = RenderText(report, false);
  const auto lines = base::Split(text, '\n');
  EXPECT_LE(lines.size(), 61u);  // the last is empty
  for (const std::string_view line : lines)
    EXPECT_LE(base::Columns(line), 100u) << line;
  EXPECT_NE(text.find("and 26 more reasons"), std::string::npos);
  EXPECT_NE(text.find("and 54 with more slack"), std::string::npos);
}

TEST(RenderText, SaysTheSameWithAndWithoutColour) {
  const Report report = SampleReport();
  const std::string plain = RenderText(report, false);
  EXPECT_EQ(plain.find('\x1b'), std::string::npos);
  EXPECT_NE(RenderText(report, true), plain);
  EXPECT_EQ(WithoutColour(RenderText(report, true)), plain);
}

TEST(RenderText, KeepsEscapesOfUsersFromTheTerminal) {
  Report report = SampleReport();
  report.review.framing.title = "\x1b[2Jgone";
  report.review.requirements[0].requirement.owner = "\x1b]0;x\x07";
  EXPECT_EQ(RenderText(report, false).find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace stepslack::render

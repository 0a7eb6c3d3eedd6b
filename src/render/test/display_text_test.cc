#include "display_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sample_report.h"
#include "stepslack/render/csv.h"

namespace stepslack::render {
namespace {

using ::testing::ElementsAre;

evidence::RequirementResult Result(double bound,
                                   std::optional<base::Estimate> estimate) {
  base::Requirement requirement{.id = "r",
                                .title = "R",
                                .metric = "m",
                                .direction = base::Direction::kAtMost,
                                .bound = bound,
                                .unit = "ms",
                                .owner = "o"};
  const base::Slack slack = base::Evaluate(requirement, estimate);
  return {requirement, std::move(estimate), slack, ""};
}

base::Estimate Value(double value, double half) {
  return {.value = value,
          .low = value - half,
          .high = value + half,
          .unit = "ms",
          .confidence = 0.95,
          .n = 9,
          .n_of = "steps",
          .method = "t"};
}

TEST(WorstFirst, PutsWhatHasNoSlackBeforeEverySlack) {
  const std::vector<evidence::RequirementResult> results = {
      Result(10, Value(5, 1)),   // +50 %
      Result(10, Value(12, 1)),  // -20 %
      Result(10, std::nullopt),  // not run
      Result(0, Value(3, 0)),    // bound zero, missed
      Result(0, Value(0, 0)),    // bound zero, met exactly
      Result(10, Value(11, 2)),  // -10 %, inconclusive
      Result(0, Value(-2, 0))};  // bound zero, met with room
  EXPECT_THAT(WorstFirst(results), ElementsAre(2, 3, 1, 5, 4, 0, 6));
}

TEST(WorstFirst, KeepsTheOrderOfTheFileForTies) {
  EXPECT_THAT(WorstFirst({Result(10, Value(5, 1)), Result(20, Value(10, 1))}),
              ElementsAre(0, 1));
}

TEST(DisplayText, StatesSlackWithSign) {
  EXPECT_EQ(SlackText(Result(10, Value(5, 1))), "+50.0 %");
  EXPECT_EQ(SlackText(Result(10, Value(12, 1))), "-20.0 %");
  EXPECT_EQ(SlackText(Result(10, Value(10.0001, 0))), "> -0.05 %");
  EXPECT_EQ(SlackText(Result(0, Value(3, 0))), "-3 ms");
  EXPECT_EQ(SlackText(Result(10, std::nullopt)), "none");
}

TEST(DisplayText, SaysWhatWouldDecide) {
  // Half width 2 at margin 1: four times the nine steps.
  EXPECT_EQ(DecidingText(Result(10, Value(11, 2))),
            "about 36 steps in all would decide");
  EXPECT_EQ(DecidingText(Result(10, Value(5, 1))), "");
}

TEST(DisplayText, NeverShowsAnEstimateWithoutItsBasis) {
  EXPECT_EQ(CellText(Value(5, 1)), "5 ms [4, 6] (95 %, n = 9 steps)");
  EXPECT_EQ(CellText(base::Exact(3, "1", 3, "rows", "count")), "3 (exact, n = 3 rows)");
  base::Estimate none;
  none.method = "no counter";
  EXPECT_EQ(CellText(none), "no value (no counter)");
  base::Estimate alone = Value(5, 1);
  alone.low = alone.high = std::nullopt;
  EXPECT_EQ(CellText(alone), "5 ms (no interval, n = 9 steps)");
}

TEST(DisplayText, NamesEveryVerdict) {
  EXPECT_EQ(VerdictWord(base::Verdict::kMet), "OK");
  EXPECT_EQ(VerdictWord(base::Verdict::kViolated), "FAIL");
  EXPECT_EQ(VerdictWord(base::Verdict::kInconclusive), "HOLD");
  EXPECT_EQ(VerdictWord(base::Verdict::kError), "ERROR");
  EXPECT_EQ(VerdictWord(base::Verdict::kNotRun), "NOT RUN");
  EXPECT_EQ(CountVerdicts(SampleReview().requirements),
            "1 ERROR, 1 NOT RUN, 1 FAIL, 1 HOLD, 4 OK");
}

TEST(DisplayText, KeepsEscapesFromATerminal) {
  EXPECT_EQ(OneLine("a\n\x1b[2Jb\xff"), "a \xEF\xBF\xBD[2Jb\xEF\xBF\xBD");
}

TEST(RenderCsv, QuotesAsRfc4180) {
  const Table table{"t",
                    {"name", "a,b"},
                    {{std::string("say \"hi\""), 0.1},
                     {std::string("two\nlines"), std::nan("")},
                     {std::string("short row")}}};
  EXPECT_EQ(RenderCsv(table),
            "name,\"a,b\"\r\n"
            "\"say \"\"hi\"\"\",0.1\r\n"
            "\"two\nlines\",\r\n"
            "short row,\r\n");
}

TEST(RenderCsv, SpreadsAnEstimateOverColumns) {
  const Table table{
      "t", {"run", "ms"}, {{std::string("a"), Value(5, 1)}, {std::string("b"), 7.0}}};
  EXPECT_EQ(RenderCsv(table),
            "run,ms,ms low,ms high,ms n,ms unit\r\n"
            "a,5,4,6,9,ms\r\n"
            "b,7,,,,\r\n");
}

}  // namespace
}  // namespace stepslack::render

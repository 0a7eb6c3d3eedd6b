#include "timeline_marks.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>

namespace stepslack::render {
namespace {

TimelineChart Chart(std::vector<Span> spans) {
  return {.title = "t", .caption = "", .lanes = {"a", "b"}, .spans = std::move(spans)};
}

TEST(TimelineMarks, KeepsWideSpansAsTheyAre) {
  const TimelineMarks marks = MarksOf(
      Chart({{1, "forward", 10, 30}, {0, "data", 0, 10}, {0, "forward", 10, 40}}), 2,
      400, 100);
  ASSERT_EQ(marks.marks.size(), 3u);
  EXPECT_EQ(marks.phases, (std::vector<std::string>{"data", "forward"}));
  EXPECT_EQ(marks.marks[0].lane, 0);
  EXPECT_EQ(marks.marks[2].lane, 1);
  EXPECT_DOUBLE_EQ(marks.start_ms, 0);
  EXPECT_DOUBLE_EQ(marks.end_ms, 40);
  EXPECT_EQ(marks.merged_spans, 0u);
}

TEST(TimelineMarks, MergesSpansBelowHalfAPixelIntoTheirLongestPhase) {
  // 100 px for 100 ms: half a pixel is 0.5 ms. Three short spans fit in one mark.
  const TimelineMarks marks = MarksOf(Chart({{0, "long", 0, 90},
                                             {0, "x", 90, 90.1},
                                             {0, "y", 90.1, 90.3},
                                             {0, "x", 90.3, 90.35},
                                             {0, "long", 95, 100}}),
                                      2, 100, 100);
  ASSERT_EQ(marks.marks.size(), 3u);
  EXPECT_EQ(marks.phases[marks.marks[1].phase], "y");
  EXPECT_DOUBLE_EQ(marks.marks[1].end_ms, 90.35);
  EXPECT_EQ(marks.merged_spans, 3u);
  EXPECT_EQ(marks.merged_marks, 1u);
  EXPECT_DOUBLE_EQ(marks.merge_ms, 0.5);
}

TEST(TimelineMarks, NeverExceedsItsLimit) {
  std::vector<Span> spans;
  for (int i = 0; i < 20000; ++i) {
    spans.push_back({i % 2, i % 3 == 0 ? "a" : "b", i * 1.0, i + 1.0});
  }
  const TimelineMarks marks = MarksOf(Chart(spans), 2, 600, 300);
  EXPECT_LE(marks.marks.size(), 300u);
  EXPECT_GE(marks.marks.size(), 75u);  // the doubling stops as soon as it can
  EXPECT_EQ(MarksOf(Chart(spans), 2, 600, 1).marks.size(), 2u);  // one for each lane
}

TEST(TimelineMarks, CountsSpansThatCanNotBeDrawn) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const TimelineMarks marks = MarksOf(Chart({{0, "a", 0, 1},
                                             {7, "a", 0, 1},
                                             {-1, "a", 0, 1},
                                             {0, "a", kNan, 1},
                                             {0, "a", 2, 1},
                                             {1, "a", 0, 1e300},
                                             {1, "a", 0, 1}}),
                                      1, 100, 100);
  EXPECT_EQ(marks.marks.size(), 1u);
  EXPECT_EQ(marks.unusable_spans, 5u);
  EXPECT_EQ(marks.hidden_spans, 1u);
}

TEST(TimelineMarks, DrawsPhasesBeyondTheNamedOnesAsOther) {
  std::vector<Span> spans;
  for (int i = 0; i < 50; ++i)
    spans.push_back({0, fmt::format("p{}", i), i * 1.0, i + 1.0});
  const TimelineMarks marks = MarksOf(Chart(spans), 2, 600, 300);
  EXPECT_EQ(marks.phases.size(), kMostPhases + 1);
  EXPECT_EQ(marks.phases.back(), "other");
  EXPECT_EQ(marks.other_phases, 50 - kMostPhases);
}

TEST(TimelineMarks, HandlesManySpansOfNoLength) {
  const std::vector<Span> spans(5000, Span{0, "a", 3, 3});
  EXPECT_LE(MarksOf(Chart(spans), 2, 600, 100).marks.size(), 100u);
}

}  // namespace
}  // namespace stepslack::render

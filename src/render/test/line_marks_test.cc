#include "line_marks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace stepslack::render {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Series Points(std::vector<double> x, std::vector<double> y) {
  return {.name = "s",
          .x = std::move(x),
          .y = std::move(y),
          .low = {},
          .high = {},
          .steps = false,
          .dashed = false,
          .points = true};
}

TEST(LineMarks, TurnsNanIntoAGapAndCountsWhatALogAxisHides) {
  const Series series = Points({1, 2, 3, 4}, {5, kNan, -1, 0});
  const MarkedSeries linear = MarksOf(series, false, false);
  EXPECT_EQ(linear.shown, 3u);
  EXPECT_TRUE(linear.marks[1].gap);
  EXPECT_EQ(linear.not_on_log, 0u);
  const MarkedSeries log = MarksOf(series, false, true);
  EXPECT_EQ(log.shown, 1u);
  EXPECT_EQ(log.not_on_log, 2u);
}

TEST(LineMarks, UsesOnlyAsManyPointsAsBothCoordinatesHave) {
  EXPECT_EQ(MarksOf(Points({1, 2, 3}, {1}), false, false).marks.size(), 1u);
}

TEST(LineMarks, KeepsAnIntervalOnlyWhenBothEndsAreFinite) {
  Series series = Points({1, 2}, {5, 6});
  series.low = {4, kNan};
  series.high = {7, 8};
  const MarkedSeries out = MarksOf(series, false, false);
  EXPECT_TRUE(out.marks[0].interval);
  EXPECT_DOUBLE_EQ(out.marks[0].low, 4);
  EXPECT_FALSE(out.marks[1].interval);
}

TEST(Thin, LosesNoPeakAndNoGap) {
  Series series = Points({}, {});
  for (int i = 0; i < 100000; ++i) {
    series.x.push_back(i);
    series.y.push_back(i == 70001 ? 50 : i == 20002 ? -50 : i == 40000 ? kNan : 1);
  }
  const std::vector<Mark> thin = Thin(MarksOf(series, false, false).marks, 1000);
  EXPECT_LE(thin.size(), 1000u);
  const auto has = [&](double y) {
    return std::any_of(thin.begin(), thin.end(),
                       [&](const Mark& mark) { return !mark.gap && mark.y == y; });
  };
  EXPECT_TRUE(has(50));
  EXPECT_TRUE(has(-50));
  EXPECT_TRUE(
      std::any_of(thin.begin(), thin.end(), [](const Mark& mark) { return mark.gap; }));
  EXPECT_DOUBLE_EQ(thin.back().x, 99999);
}

TEST(PlaceLabel, AvoidsTheLineAndOtherLabels) {
  std::vector<PixelPoint> track;
  AddTrack(track, {0, 50}, {100, 50});
  AddTrack(track, {50, 0}, {50, 50});  // above the anchor is covered too
  const Box limits{0, 0, 100, 100};
  const Box first = PlaceLabel(30, 14, {{50, 50}}, track, {}, limits);
  EXPECT_GT(first.y0, 50);
  const Box second = PlaceLabel(30, 14, {{50, 50}}, track, {first}, limits);
  EXPECT_FALSE(second.Overlaps(first));
}

TEST(PlaceLabel, StaysInsideItsLimits) {
  const Box limits{10, 10, 60, 40};
  const Box box = PlaceLabel(40, 14, {{10, 10}, {500, 500}}, {}, {}, limits);
  EXPECT_GE(box.x0, 10);
  EXPECT_GE(box.y0, 10);
  EXPECT_LE(box.x1, 60);
  EXPECT_LE(box.y1, 40);
}

}  // namespace
}  // namespace stepslack::render

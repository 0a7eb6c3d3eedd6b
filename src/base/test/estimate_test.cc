#include "stepslack/base/estimate.h"

#include <gtest/gtest.h>

namespace stepslack::base {
namespace {

Requirement AtMost(double bound) {
  return {.id = "mae",
          .title = "MAE",
          .metric = "mae",
          .direction = Direction::kAtMost,
          .bound = bound,
          .unit = "mV",
          .owner = "lead"};
}

Estimate Interval(double value, double low, double high) {
  return {.value = value,
          .low = low,
          .high = high,
          .unit = "mV",
          .confidence = 0.95,
          .n = 4,
          .n_of = "families",
          .method = "hand"};
}

TEST(SlackTest, IntervalWhollyBelowAnUpperBoundIsMet) {
  const Slack slack = Evaluate(AtMost(2), Interval(1.5, 1.2, 2.0));
  EXPECT_EQ(slack.verdict, Verdict::kMet);
  EXPECT_DOUBLE_EQ(*slack.margin, 0.5);
  EXPECT_DOUBLE_EQ(*slack.percent, 25.0);
}

TEST(SlackTest, IntervalWhollyAboveAnUpperBoundIsViolated) {
  const Slack slack = Evaluate(AtMost(2), Interval(3, 2.5, 3.5));
  EXPECT_EQ(slack.verdict, Verdict::kViolated);
  EXPECT_DOUBLE_EQ(*slack.margin, -1.0);
}

TEST(SlackTest, StraddlingIntervalIsInconclusiveAndSaysHowManyDecide) {
  // Half width 1, margin 0.5: four times as many samples halve the interval.
  const Slack slack = Evaluate(AtMost(2), Interval(1.5, 0.5, 2.5));
  EXPECT_EQ(slack.verdict, Verdict::kInconclusive);
  EXPECT_EQ(*slack.samples_to_decide, 16);
}

TEST(SlackTest, LowerBoundMirrorsTheSigns) {
  Requirement requirement = AtMost(0.9);
  requirement.direction = Direction::kAtLeast;
  EXPECT_EQ(Evaluate(requirement, Interval(0.95, 0.92, 0.98)).verdict, Verdict::kMet);
  EXPECT_EQ(Evaluate(requirement, Interval(0.8, 0.7, 0.85)).verdict,
            Verdict::kViolated);
}

TEST(SlackTest, AbsentEstimateIsNotRunAndAbsentValueIsAnError) {
  EXPECT_EQ(Evaluate(AtMost(2), std::nullopt).verdict, Verdict::kNotRun);
  Estimate empty;
  EXPECT_EQ(Evaluate(AtMost(2), empty).verdict, Verdict::kError);
}

TEST(SlackTest, PointWithoutIntervalIsInconclusive) {
  Estimate point = Interval(1, 0, 0);
  point.low.reset();
  point.high.reset();
  EXPECT_EQ(Evaluate(AtMost(2), point).verdict, Verdict::kInconclusive);
}

TEST(EstimateTest, JsonRoundTripKeepsEveryField) {
  const Estimate estimate = Interval(1.5, 1.25, 1.75);
  EXPECT_EQ(ToJson(EstimateFromJson(ToJson(estimate))).Dump(), ToJson(estimate).Dump());
}

TEST(EstimateTest, DescriptionShowsIntervalLevelAndCount) {
  EXPECT_EQ(Describe(Interval(1.5, 1.25, 1.75)),
            "1.5 mV [1.25, 1.75] (95 %, n = 4 families)");
}

}  // namespace
}  // namespace stepslack::base

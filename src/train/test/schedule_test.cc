#include "schedule.h"

#include <gtest/gtest.h>

#include <cmath>

namespace stepslack::train {
namespace {

const Schedule kSchedule{2.0, 100, 1100};

TEST(Schedule, WarmsUpLinearlyInSamples) {
  EXPECT_DOUBLE_EQ(LearningRate(kSchedule, 0, 10), 0.2);
  EXPECT_DOUBLE_EQ(LearningRate(kSchedule, 40, 10), 1.0);
  EXPECT_DOUBLE_EQ(LearningRate(kSchedule, 90, 10), 2.0);
  EXPECT_DOUBLE_EQ(LearningRate(kSchedule, 95, 10), 2.0);  // never above the peak
}

TEST(Schedule, FollowsHalfACosineToZero) {
  EXPECT_DOUBLE_EQ(LearningRate(kSchedule, 100, 10), 2.0);
  EXPECT_NEAR(LearningRate(kSchedule, 350, 10), 1.0 + std::sqrt(0.5), 1e-12);
  EXPECT_NEAR(LearningRate(kSchedule, 600, 10), 1.0, 1e-12);
  EXPECT_NEAR(LearningRate(kSchedule, 1100, 10), 0.0, 1e-12);
}

TEST(Schedule, AnotherBatchSizeFollowsTheSameCurveAfterWarmUp) {
  EXPECT_EQ(LearningRate(kSchedule, 600, 10), LearningRate(kSchedule, 600, 200));
}

TEST(Schedule, LinearDecayIsAStraightLineToZero) {
  Schedule schedule = kSchedule;
  schedule.decay = Decay::kLinear;
  EXPECT_DOUBLE_EQ(LearningRate(schedule, 40, 10), 1.0);  // the same warm-up
  EXPECT_DOUBLE_EQ(LearningRate(schedule, 100, 10), 2.0);
  EXPECT_DOUBLE_EQ(LearningRate(schedule, 350, 10), 1.5);
  EXPECT_DOUBLE_EQ(LearningRate(schedule, 1100, 10), 0.0);
  EXPECT_DOUBLE_EQ(LearningRate(schedule, 1200, 10), 0.0);
}

TEST(Schedule, ConstantStaysAtThePeakAfterWarmUp) {
  Schedule schedule = kSchedule;
  schedule.decay = Decay::kConstant;
  EXPECT_DOUBLE_EQ(LearningRate(schedule, 40, 10), 1.0);
  EXPECT_DOUBLE_EQ(LearningRate(schedule, 100, 10), 2.0);
  EXPECT_DOUBLE_EQ(LearningRate(schedule, 1100, 10), 2.0);
}

TEST(ScheduleOf, TakesShapeAndPositionsFromThePlan) {
  record::TrainPlan plan;
  plan.learning_rate = 0.5;
  plan.warmup_samples = 7;
  plan.samples = 70;
  EXPECT_EQ(ScheduleOf(plan).decay, Decay::kCosine);
  plan.schedule = "linear";
  EXPECT_EQ(ScheduleOf(plan).decay, Decay::kLinear);
  plan.schedule = "constant";
  const Schedule schedule = ScheduleOf(plan);
  EXPECT_EQ(schedule.decay, Decay::kConstant);
  EXPECT_EQ(schedule.peak, 0.5);
  EXPECT_EQ(schedule.warmup_samples, 7);
  EXPECT_EQ(schedule.total_samples, 70);
}

TEST(ScheduleOf, ScalesTheRateByTheStatedRuleOnly) {
  record::TrainPlan plan;
  plan.learning_rate = 0.5;
  plan.global_batch = 64;
  plan.reference_batch = 16;
  EXPECT_DOUBLE_EQ(ScheduleOf(plan).peak, 0.5);  // none
  plan.learning_rate_scaling = "linear";
  EXPECT_DOUBLE_EQ(ScheduleOf(plan).peak, 2.0);
  plan.learning_rate_scaling = "sqrt";
  EXPECT_DOUBLE_EQ(ScheduleOf(plan).peak, 1.0);
  plan.reference_batch = 0;  // the global batch itself
  EXPECT_DOUBLE_EQ(ScheduleOf(plan).peak, 0.5);
}

TEST(Schedule, WarmUpMayBeAbsentOrLongerThanTheRun) {
  EXPECT_DOUBLE_EQ(LearningRate({2.0, 0, 10}, 0, 5), 2.0);
  EXPECT_DOUBLE_EQ(LearningRate({2.0, 100, 10}, 5, 5), 0.2);
}

}  // namespace
}  // namespace stepslack::train

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

TEST(Schedule, WarmUpMayBeAbsentOrLongerThanTheRun) {
  EXPECT_DOUBLE_EQ(LearningRate({2.0, 0, 10}, 0, 5), 2.0);
  EXPECT_DOUBLE_EQ(LearningRate({2.0, 100, 10}, 5, 5), 0.2);
}

}  // namespace
}  // namespace stepslack::train

#include "stepslack/analyze/step_replay.h"

#include <gtest/gtest.h>

namespace stepslack::analyze {
namespace {

TEST(StepReplay, WithoutNoiseIsComputationPlusWhatTheOverlapDoesNotHide) {
  StepReplayOptions options;
  options.world_size = 16;
  options.compute_seconds = 2;
  options.exchange_seconds = 3;
  options.overlap = 0.5;
  const auto replay = ReplaySteps(options);
  ASSERT_TRUE(replay.has_value());
  EXPECT_NEAR(replay->step_seconds, 4, 1e-9);
  EXPECT_NEAR(replay->exposed_seconds, 2, 1e-9);
  EXPECT_NEAR(replay->wait_seconds, 0, 1e-9);
  EXPECT_EQ(replay->events, 1600);
}

TEST(StepReplay, AgreesWithTheExtremeValueOfNoise) {
  StepReplayOptions options;
  options.compute_cv = 0.05;
  options.steps = 400;
  for (const int64_t n : {2, 64, 1024}) {
    options.world_size = n;
    const auto replay = ReplaySteps(options);
    ASSERT_TRUE(replay.has_value());
    // Deviation of the mean over 400 steps < 0.05 / 20; 4 of them.
    EXPECT_NEAR(replay->step_seconds, ClosedFormStep(options), 0.01) << n;
  }
}

TEST(ExpectedLargestNormal, IsNearTheExactValues) {
  EXPECT_EQ(ExpectedLargestNormal(1), 0);
  EXPECT_NEAR(ExpectedLargestNormal(2), 0.5642, 0.03);
  EXPECT_NEAR(ExpectedLargestNormal(10), 1.5388, 0.01);
  EXPECT_NEAR(ExpectedLargestNormal(100), 2.5076, 0.01);
}

TEST(StepReplay, RefusesMoreEventsThanItWillWalk) {
  StepReplayOptions options;
  options.world_size = 1'000'000'000;
  EXPECT_EQ(ReplaySteps(options).error().id, "PROJ-0004");
}

}  // namespace
}  // namespace stepslack::analyze

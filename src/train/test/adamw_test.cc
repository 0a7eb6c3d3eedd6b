#include "adamw.h"

#include <gtest/gtest.h>

#include <cmath>

namespace stepslack::train {
namespace {

std::vector<model::ParameterInfo> OneKernelOneVector() {
  model::ParameterLayout layout;
  layout.AddKernel("k", 1, 1, 1, 1.0);
  layout.AddVector("v", 1, 0.0);
  return layout.parameters();
}

TEST(AdamW, FollowsTheHandWorkedSteps) {
  AdamWOptions options;
  options.beta1 = 0.9;
  options.beta2 = 0.99;
  options.epsilon = 0;
  options.weight_decay = 0.1;
  AdamW optimizer(options, OneKernelOneVector(), 32);
  std::vector<float> values(32, 0.0F);
  std::vector<float> gradients(32, 0.0F);
  values[0] = 1.0F;   // kernel: decays
  values[16] = 1.0F;  // vector: does not
  gradients[0] = gradients[16] = 0.5F;
  optimizer.Step(values, gradients, 0.1, 1.0);
  // First step: m / (1 - b1) = g, sqrt(v / (1 - b2)) = |g|, so the step is the rate.
  EXPECT_NEAR(values[0], 1.0 * (1 - 0.1 * 0.1) - 0.1, 1e-6);
  EXPECT_NEAR(values[16], 1.0 - 0.1, 1e-6);
  EXPECT_EQ(gradients[0], 0.0F);  // cleared for the next step
  EXPECT_EQ(gradients[16], 0.0F);
  gradients[0] = gradients[16] = -1.0F;
  optimizer.Step(values, gradients, 0.1, 1.0);
  // m = 0.9 * 0.05 - 0.1 = -0.055, / 0.19; v = 0.99 * 0.0025 + 0.01 = 0.012475, /
  // 0.0199.
  const double step = 0.1 * (-0.055 / 0.19) / std::sqrt(0.012475 / 0.0199);
  EXPECT_NEAR(values[16], 0.9 - step, 1e-6);
  EXPECT_NEAR(values[0], 0.89 * 0.99 - step, 1e-6);
  EXPECT_EQ(optimizer.steps(), 2);
  EXPECT_EQ(values[1], 0.0F);  // the gap
}

TEST(AdamW, GradientScaleIsTheSameAsAScaledGradient) {
  AdamW scaled({}, OneKernelOneVector(), 32);
  AdamW plain({}, OneKernelOneVector(), 32);
  std::vector<float> first(32, 1.0F);
  std::vector<float> second(32, 1.0F);
  for (float g : {4.0F, -2.0F, 8.0F}) {
    std::vector<float> large(32, g), small(32, g * 0.25F);
    scaled.Step(first, large, 0.01, 0.25);
    plain.Step(second, small, 0.01, 1.0);
  }
  EXPECT_EQ(first[0], second[0]);
  EXPECT_EQ(first[16], second[16]);
}

}  // namespace
}  // namespace stepslack::train

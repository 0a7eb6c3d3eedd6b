// SGD and LAMB against hand-worked steps, and what every optimizer promises.
#include "optimizer.h"

#include <gtest/gtest.h>

#include <cmath>

#include "lamb.h"
#include "sgd.h"

namespace stepslack::train {
namespace {

std::vector<model::ParameterInfo> KernelAndVector() {
  model::ParameterLayout layout;
  layout.AddKernel("k", 2, 1, 1, 1.0);  // two values at 0
  layout.AddVector("v", 2, 0.0);        // two values at 16
  return layout.parameters();
}

TEST(Sgd, FollowsTheHandWorkedSteps) {
  Sgd optimizer({0.5, 0.1}, KernelAndVector(), 32);
  std::vector<float> values(32, 0.0F);
  std::vector<float> gradients(32, 0.0F);
  values[0] = values[16] = 1.0F;
  gradients[0] = gradients[16] = 2.0F;
  optimizer.Step(values, gradients, 0.1, 0.5);
  // Velocity: kernel 0.5 * 2 + 0.1 * 1 = 1.1, vector (no decay) 1.
  EXPECT_NEAR(values[0], 1 - 0.11, 1e-6);
  EXPECT_NEAR(values[16], 0.9, 1e-6);
  gradients[16] = -1.0F;
  optimizer.Step(values, gradients, 0.1, 1.0);
  // Vector: 0.5 * 1 - 1 = -0.5. Kernel: 0.5 * 1.1 + 0.1 * 0.89 = 0.639.
  EXPECT_NEAR(values[16], 0.95, 1e-6);
  EXPECT_NEAR(values[0], 0.89 - 0.0639, 1e-6);
}

TEST(Lamb, MovesEachParameterByTheRateTimesItsNorm) {
  LambOptions options;
  options.epsilon = 0;
  Lamb optimizer(options, KernelAndVector(), 32);
  std::vector<float> values(32, 0.0F);
  std::vector<float> gradients(32, 0.0F);
  values[0] = 3.0F;
  values[1] = 4.0F;  // norm 5
  gradients[0] = 0.1F;
  gradients[1] = -7.0F;
  gradients[16] = 0.2F;  // the vector starts at zero: ratio 1
  gradients[17] = -0.2F;
  optimizer.Step(values, gradients, 0.01, 1.0);
  // First step: m and v corrected give direction = sign(gradient), norm sqrt(2).
  const double step = 0.01 * 5 / std::sqrt(2.0);
  EXPECT_NEAR(values[0], 3 - step, 1e-6);
  EXPECT_NEAR(values[1], 4 + step, 1e-6);
  EXPECT_NEAR(values[16], -0.01, 1e-7);
  EXPECT_NEAR(values[17], 0.01, 1e-7);
}

TEST(Lamb, WeightDecayIsPartOfTheDirection) {
  LambOptions options;
  options.epsilon = 1e-30;  // no more than keeps 0 / 0 away
  options.weight_decay = 0.5;
  Lamb optimizer(options, KernelAndVector(), 32);
  std::vector<float> values(32, 0.0F);
  std::vector<float> gradients(32, 0.0F);
  values[0] = 2.0F;
  gradients[0] = 1.0F;
  optimizer.Step(values, gradients, 0.1, 1.0);
  // Direction (1 + 0.5 * 2, 0), norm 2; value norm 2: ratio 1.
  EXPECT_NEAR(values[0], 2 - 0.2, 1e-6);
  EXPECT_EQ(values[1], 0.0F);
}

TEST(MakeOptimizer, EveryOneDescendsClearsGradientsAndResumesFromItsState) {
  for (const char* name : {"adamw", "sgd", "lamb"}) {
    record::TrainPlan plan;
    plan.optimizer = name;
    const auto first = MakeOptimizer(plan, KernelAndVector(), 32);
    ASSERT_EQ(first->name(), name);
    // Minimises |value - 1|^2 / 2 over the four values.
    std::vector<float> values(32, 0.0F), gradients(40, 0.0F);
    gradients[35] = 9.0F;  // behind the parameters: not its business
    const auto descend = [](Optimizer& optimizer, std::vector<float>& at,
                            std::vector<float>& gradient) {
      for (size_t i : {size_t{0}, size_t{1}, size_t{16}, size_t{17}}) {
        EXPECT_EQ(gradient[i], 0.0F);
        gradient[i] = at[i] - 1;
      }
      optimizer.Step(at, gradient, 0.05, 1.0);
    };
    for (int step = 0; step < 60; ++step) descend(*first, values, gradients);
    EXPECT_EQ(gradients[35], 9.0F);
    EXPECT_EQ(first->steps(), 60);
    for (size_t i : {size_t{0}, size_t{17}}) {
      EXPECT_GT(values[i], 0.3F) << name;
      EXPECT_LT(values[i], 1.7F) << name;
    }
    // A second one with the same state takes the same step, to the bit.
    const auto second = MakeOptimizer(plan, KernelAndVector(), 32);
    const auto from = first->state();
    const auto to = second->state();
    ASSERT_EQ(from.size(), to.size());
    for (size_t i = 0; i < from.size(); ++i) {
      EXPECT_EQ(from[i].name, to[i].name);
      ASSERT_EQ(from[i].values.size(), 32U);
      std::copy(from[i].values.begin(), from[i].values.end(), to[i].values.begin());
    }
    second->set_steps(first->steps());
    std::vector<float> copy = values;
    std::vector<float> copy_gradients = gradients;
    descend(*first, values, gradients);
    descend(*second, copy, copy_gradients);
    EXPECT_EQ(values, copy) << name;
  }
}

}  // namespace
}  // namespace stepslack::train

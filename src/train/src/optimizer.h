// Update rules on flat buffers: one pass over memory where the rule allows it, no
// tensor library.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "state_view.h"
#include "stepslack/model/parameter_layout.h"
#include "stepslack/record/train_plan.h"

namespace stepslack::train {

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  virtual std::string_view name() const = 0;

  // One step with gradient times `gradient_scale` (clipping). Both buffers are in
  // layout order; `gradients` may be longer. The gradients of all parameters are zero
  // afterwards: clearing them while they are in the cache saves a pass over memory.
  virtual void Step(std::span<float> values, std::span<float> gradients,
                    double learning_rate, double gradient_scale) = 0;

  // State for checkpoints, besides the number of steps.
  virtual std::vector<StateView> state() = 0;
  int64_t steps() const { return steps_; }
  void set_steps(int64_t steps) { steps_ = steps; }

 protected:
  Optimizer() = default;
  int64_t steps_ = 0;
};

// plan.optimizer, one of "adamw", "sgd", "lamb" (CheckPlan refuses others).
// `buffer_floats` is the length of the parameter buffer.
std::unique_ptr<Optimizer> MakeOptimizer(const record::TrainPlan& plan,
                                         std::vector<model::ParameterInfo> parameters,
                                         size_t buffer_floats);

}  // namespace stepslack::train

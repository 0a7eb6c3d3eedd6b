// Update rules on flat buffers: one pass over memory where the rule allows it, no
// tensor library.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
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

  // Both buffers in layout order; `gradients` may be longer. The gradient counts times
  // `gradient_scale` (clipping).
  struct Buffers {
    std::span<float> values;
    std::span<float> gradients;
    double learning_rate = 0;
    double gradient_scale = 1;
  };
  // One step of all parameters.
  void Step(std::span<float> values, std::span<float> gradients, double learning_rate,
            double gradient_scale) {
    BeginStep();
    Update({values, gradients, learning_rate, gradient_scale}, 0, SIZE_MAX);
  }
  // The same in parts: one BeginStep, then every parameter in exactly one Update; the
  // order changes no bit.
  void BeginStep() { ++steps_; }
  // Parameters [first, end). Their gradients are zero afterwards: clearing them while
  // they are in the cache saves a pass over memory.
  virtual void Update(const Buffers& buffers, size_t first, size_t end) = 0;

  // State for checkpoints, besides the number of steps.
  virtual std::vector<StateView> state() = 0;
  int64_t steps() const { return steps_; }
  void set_steps(int64_t steps) { steps_ = steps; }

 protected:
  explicit Optimizer(std::vector<model::ParameterInfo> parameters)
      : parameters_(std::move(parameters)) {}
  // Those of [first, end) that there are.
  std::span<const model::ParameterInfo> Range(size_t first, size_t end) const {
    const size_t last = std::min(end, parameters_.size());
    return std::span(parameters_).subspan(first, last - first);
  }
  int64_t steps_ = 0;

 private:
  std::vector<model::ParameterInfo> parameters_;
};

// plan.optimizer, one of "adamw", "sgd", "lamb" (CheckPlan refuses others).
// `buffer_floats` is the length of the parameter buffer.
std::unique_ptr<Optimizer> MakeOptimizer(const record::TrainPlan& plan,
                                         std::vector<model::ParameterInfo> parameters,
                                         size_t buffer_floats);

}  // namespace stepslack::train

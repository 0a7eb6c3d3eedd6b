// AdamW (Loshchilov and Hutter 2019) on flat buffers: one pass, no tensor library.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "stepslack/model/parameter_layout.h"

namespace stepslack::train {

struct AdamWOptions {
  double beta1 = 0.9;
  double beta2 = 0.99;
  double epsilon = 1e-8;
  double weight_decay = 0;  // of parameters whose layout asks for it
};

class AdamW {
 public:
  AdamW(const AdamWOptions& options, std::vector<model::ParameterInfo> parameters,
        size_t buffer_floats);

  // One step with gradient times `gradient_scale` (clipping).
  void Step(std::span<float> values, std::span<const float> gradients,
            double learning_rate, double gradient_scale);

  // State for checkpoints: both moments in buffer order, and the number of steps.
  std::span<float> first_moment() { return first_; }
  std::span<float> second_moment() { return second_; }
  int64_t steps() const { return steps_; }
  void set_steps(int64_t steps) { steps_ = steps; }

 private:
  AdamWOptions options_;
  std::vector<model::ParameterInfo> parameters_;
  std::vector<float> first_;
  std::vector<float> second_;
  int64_t steps_ = 0;
};

// Square root of the sum of squares, summed in double in a fixed order.
double GlobalNorm(std::span<const float> gradients);

}  // namespace stepslack::train

// LAMB (You et al., "Large Batch Optimization for Deep Learning: Training BERT in 76
// minutes", 2020, algorithm 2) on flat buffers: Adam's direction, with one step length
// a parameter tensor relative to the norm of its values.
#pragma once

#include "optimizer.h"

namespace stepslack::train {

struct LambOptions {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-6;
  double weight_decay = 0;  // of parameters whose layout asks for it
};

// direction = m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + epsilon)
//             + weight_decay * value
// value    -= learning rate * |value| / |direction| * direction
// with the ratio 1 when a norm is 0 (a vector that starts at 0 must be able to leave).
class Lamb final : public Optimizer {
 public:
  Lamb(const LambOptions& options, std::vector<model::ParameterInfo> parameters,
       size_t buffer_floats);
  std::string_view name() const override { return "lamb"; }
  void Update(const Buffers& buffers, size_t first, size_t end) override;
  std::vector<StateView> state() override {
    return {{"moment1", first_}, {"moment2", second_}};
  }

 private:
  LambOptions options_;
  std::vector<float> first_;
  std::vector<float> second_;
};

}  // namespace stepslack::train

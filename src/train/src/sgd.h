// Stochastic gradient descent with momentum (Sutskever et al. 2013, in the form that
// keeps the learning rate out of the velocity) on flat buffers.
#pragma once

#include "optimizer.h"

namespace stepslack::train {

struct SgdOptions {
  double momentum = 0.9;    // 0 .. 1
  double weight_decay = 0;  // added to the gradient, where the layout asks for it
};

// velocity = momentum * velocity + gradient + weight_decay * value
// value   -= learning rate * velocity
class Sgd final : public Optimizer {
 public:
  Sgd(const SgdOptions& options, std::vector<model::ParameterInfo> parameters,
      size_t buffer_floats);
  std::string_view name() const override { return "sgd"; }
  void Update(const Buffers& buffers, size_t first, size_t end) override;
  std::vector<StateView> state() override { return {{"momentum", velocity_}}; }

 private:
  SgdOptions options_;
  std::vector<float> velocity_;
};

}  // namespace stepslack::train

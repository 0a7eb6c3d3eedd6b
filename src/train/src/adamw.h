// AdamW (Loshchilov and Hutter 2019) on flat buffers: one pass, no tensor library.
#pragma once

#include "optimizer.h"

namespace stepslack::train {

struct AdamWOptions {
  double beta1 = 0.9;
  double beta2 = 0.99;
  double epsilon = 1e-8;
  double weight_decay = 0;  // of parameters whose layout asks for it
};

class AdamW final : public Optimizer {
 public:
  AdamW(const AdamWOptions& options, std::vector<model::ParameterInfo> parameters,
        size_t buffer_floats);
  std::string_view name() const override { return "adamw"; }
  void Update(const Buffers& buffers, size_t first, size_t end) override;
  std::vector<StateView> state() override {
    return {{"moment1", first_}, {"moment2", second_}};
  }

 private:
  AdamWOptions options_;
  std::vector<float> first_;
  std::vector<float> second_;
};

}  // namespace stepslack::train

#include "sgd.h"

#include <utility>

#include "stepslack/base/result.h"

namespace stepslack::train {
namespace {

struct Coefficients {
  float momentum, decay, learning_rate, gradient_scale;
};

__attribute__((target_clones("avx512f", "avx2", "default"))) void UpdateRange(
    float* __restrict values, float* __restrict gradients, float* __restrict velocity,
    int64_t count, const Coefficients& c) {
  for (int64_t i = 0; i < count; ++i) {
    const float gradient = gradients[i] * c.gradient_scale + c.decay * values[i];
    const float v = c.momentum * velocity[i] + gradient;
    gradients[i] = 0;
    velocity[i] = v;
    values[i] -= c.learning_rate * v;
  }
}

}  // namespace

Sgd::Sgd(const SgdOptions& options, std::vector<model::ParameterInfo> parameters,
         size_t buffer_floats)
    : Optimizer(std::move(parameters)), options_(options), velocity_(buffer_floats) {}

void Sgd::Update(const Buffers& buffers, size_t first, size_t end) {
  const auto& [values, gradients, learning_rate, gradient_scale] = buffers;
  SS_CHECK(values.size() == velocity_.size() && gradients.size() >= velocity_.size());
  Coefficients c{};
  c.momentum = static_cast<float>(options_.momentum);
  c.learning_rate = static_cast<float>(learning_rate);
  c.gradient_scale = static_cast<float>(gradient_scale);
  for (const model::ParameterInfo& info : Range(first, end)) {
    c.decay = info.decay ? static_cast<float>(options_.weight_decay) : 0.0F;
    const auto at = static_cast<size_t>(info.offset);
    UpdateRange(values.data() + at, gradients.data() + at, velocity_.data() + at,
                info.count, c);
  }
}

}  // namespace stepslack::train

#include "lamb.h"

#include <cmath>
#include <utility>

#include "norms.h"
#include "stepslack/base/result.h"

namespace stepslack::train {
namespace {

struct Coefficients {
  float beta1, beta2, one_minus_beta1, one_minus_beta2;
  float inverse_correction1, inverse_correction2;
  float epsilon, decay, gradient_scale;
};

// Leaves the direction in place of the gradient.
__attribute__((target_clones("avx512f", "avx2", "default"))) void FindDirection(
    const float* __restrict values, float* __restrict gradients,
    float* __restrict first, float* __restrict second, int64_t count,
    const Coefficients& c) {
  for (int64_t i = 0; i < count; ++i) {
    const float gradient = gradients[i] * c.gradient_scale;
    const float m = c.beta1 * first[i] + c.one_minus_beta1 * gradient;
    const float v = c.beta2 * second[i] + c.one_minus_beta2 * gradient * gradient;
    first[i] = m;
    second[i] = v;
    const float denominator = std::sqrt(v * c.inverse_correction2) + c.epsilon;
    gradients[i] = m * c.inverse_correction1 / denominator + c.decay * values[i];
  }
}

__attribute__((target_clones("avx512f", "avx2", "default"))) void Move(
    float* __restrict values, float* __restrict direction, int64_t count,
    float length) {
  for (int64_t i = 0; i < count; ++i) {
    values[i] -= length * direction[i];
    direction[i] = 0;
  }
}

}  // namespace

Lamb::Lamb(const LambOptions& options, std::vector<model::ParameterInfo> parameters,
           size_t buffer_floats)
    : Optimizer(std::move(parameters)),
      options_(options),
      first_(buffer_floats),
      second_(buffer_floats) {}

void Lamb::Update(const Buffers& buffers, size_t first, size_t end) {
  const auto& [values, gradients, learning_rate, gradient_scale] = buffers;
  SS_CHECK(values.size() == first_.size() && gradients.size() >= first_.size());
  const auto steps = static_cast<double>(steps_);
  Coefficients c{};
  c.beta1 = static_cast<float>(options_.beta1);
  c.beta2 = static_cast<float>(options_.beta2);
  c.one_minus_beta1 = static_cast<float>(1.0 - options_.beta1);
  c.one_minus_beta2 = static_cast<float>(1.0 - options_.beta2);
  c.inverse_correction1 =
      static_cast<float>(1.0 / (1.0 - std::pow(options_.beta1, steps)));
  c.inverse_correction2 =
      static_cast<float>(1.0 / (1.0 - std::pow(options_.beta2, steps)));
  c.epsilon = static_cast<float>(options_.epsilon);
  c.gradient_scale = static_cast<float>(gradient_scale);
  for (const model::ParameterInfo& info : Range(first, end)) {
    c.decay = info.decay ? static_cast<float>(options_.weight_decay) : 0.0F;
    const auto at = static_cast<size_t>(info.offset);
    const auto count = static_cast<size_t>(info.count);
    const std::span<float> own = values.subspan(at, count);
    const std::span<float> direction = gradients.subspan(at, count);
    FindDirection(own.data(), direction.data(), first_.data() + at, second_.data() + at,
                  info.count, c);
    const double size = GlobalNorm(own);
    const double length = GlobalNorm(direction);
    const double ratio = size > 0 && length > 0 ? size / length : 1.0;
    Move(own.data(), direction.data(), info.count,
         static_cast<float>(learning_rate * ratio));
  }
}

}  // namespace stepslack::train

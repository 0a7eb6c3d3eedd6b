#include "adamw.h"

#include <cmath>
#include <utility>

#include "stepslack/base/result.h"

namespace stepslack::train {
namespace {

struct Coefficients {
  float beta1, beta2, one_minus_beta1, one_minus_beta2;
  float inverse_correction2;  // 1 / (1 - beta2^t)
  float step_size;            // learning rate / (1 - beta1^t)
  float epsilon;
  float keep;  // 1 - learning rate * weight decay
  float gradient_scale;
};

// Compiled for each vector width; the loader picks one by CPU. Vectorised only without
// math-errno, see CMakeLists.txt.
__attribute__((target_clones("avx512f", "avx2", "default"))) void UpdateRange(
    float* __restrict values, float* __restrict gradients, float* __restrict first,
    float* __restrict second, int64_t count, const Coefficients& c) {
  for (int64_t i = 0; i < count; ++i) {
    const float gradient = gradients[i] * c.gradient_scale;
    const float m = c.beta1 * first[i] + c.one_minus_beta1 * gradient;
    const float v = c.beta2 * second[i] + c.one_minus_beta2 * gradient * gradient;
    gradients[i] = 0;
    first[i] = m;
    second[i] = v;
    const float denominator = std::sqrt(v * c.inverse_correction2) + c.epsilon;
    values[i] = values[i] * c.keep - c.step_size * m / denominator;
  }
}

}  // namespace

AdamW::AdamW(const AdamWOptions& options, std::vector<model::ParameterInfo> parameters,
             size_t buffer_floats)
    : Optimizer(std::move(parameters)),
      options_(options),
      first_(buffer_floats),
      second_(buffer_floats) {}

void AdamW::Update(const Buffers& buffers, size_t first, size_t end) {
  const auto& [values, gradients, learning_rate, gradient_scale] = buffers;
  SS_CHECK(values.size() == first_.size() && gradients.size() >= first_.size());
  const double correction1 =
      1.0 - std::pow(options_.beta1, static_cast<double>(steps_));
  const double correction2 =
      1.0 - std::pow(options_.beta2, static_cast<double>(steps_));
  Coefficients c{};
  c.beta1 = static_cast<float>(options_.beta1);
  c.beta2 = static_cast<float>(options_.beta2);
  c.one_minus_beta1 = static_cast<float>(1.0 - options_.beta1);
  c.one_minus_beta2 = static_cast<float>(1.0 - options_.beta2);
  c.inverse_correction2 = static_cast<float>(1.0 / correction2);
  c.step_size = static_cast<float>(learning_rate / correction1);
  c.epsilon = static_cast<float>(options_.epsilon);
  c.gradient_scale = static_cast<float>(gradient_scale);
  for (const model::ParameterInfo& info : Range(first, end)) {
    const double decay = info.decay ? options_.weight_decay : 0.0;
    c.keep = static_cast<float>(1.0 - learning_rate * decay);
    const auto at = static_cast<size_t>(info.offset);
    UpdateRange(values.data() + at, gradients.data() + at, first_.data() + at,
                second_.data() + at, info.count, c);
  }
}

}  // namespace stepslack::train

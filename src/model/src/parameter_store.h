// Parameters, gradients and batch statistics as tensors: views of the flat buffers.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "aligned_buffer.h"
#include "stepslack/model/parameter_layout.h"

namespace torch::autograd {
struct Node;
}

namespace stepslack::model {

// Filled in two steps: the architecture adds its layers to the layouts, then Bind gives
// them memory.
class ParameterStore {
 public:
  ParameterLayout layout;
  ParameterLayout statistics_layout;

  // `gradient_memory` may be empty; else it is long enough and aligned.
  void Bind(uint64_t seed, int gradient_tail, std::span<float> gradient_memory);

  const at::Tensor& value(size_t parameter) const { return values_[parameter]; }
  const at::Tensor& statistic(size_t index) const { return statistics_[index]; }
  std::span<float> flat_values() { return value_buffer_->span(); }
  std::span<float> flat_gradients() { return gradient_span_; }
  std::span<float> flat_statistics() {
    if (!statistic_buffer_.has_value()) return {};
    return statistic_buffer_->span();
  }
  void OnReady(std::function<void(size_t)> callback) { ready_ = std::move(callback); }

  // A layer that writes the gradient of this parameter itself (and tells autograd that
  // there is none) may overwrite after ClearGradients instead of adding.
  // Before Bind.
  void WriteDirectly(size_t parameter);
  const at::Tensor& gradient(size_t parameter) const { return gradients_[parameter]; }
  // True once after ClearGradients: the gradient holds old values to be overwritten.
  bool TakeStale(size_t parameter);
  void ClearGradients();
  // Zeros what nobody has written since ClearGradients.
  void SettleGradients();

 private:
  std::span<float> FlatGradient(size_t parameter);
  std::optional<AlignedBuffer> value_buffer_;
  std::optional<AlignedBuffer> gradient_buffer_;  // unless the caller gave memory
  std::optional<AlignedBuffer> statistic_buffer_;
  std::span<float> gradient_span_;
  std::vector<at::Tensor> values_;
  std::vector<at::Tensor> gradients_;
  std::vector<at::Tensor> statistics_;
  std::vector<bool> direct_;
  std::vector<bool> stale_;
  std::function<void(size_t)> ready_;
  // Held so that the hooks stay: autograd itself keeps only weak references.
  std::vector<std::shared_ptr<torch::autograd::Node>> accumulators_;
};

}  // namespace stepslack::model

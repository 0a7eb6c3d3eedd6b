#include "parameter_store.h"

#include <ATen/ops/from_blob.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>

namespace stepslack::model {
namespace {

// Tells the owner when autograd has finished a parameter's gradient.
class ReadyHook final : public torch::autograd::FunctionPostHook {
 public:
  ReadyHook(const std::function<void(size_t)>* callback, size_t parameter)
      : callback_(callback), parameter_(parameter) {}
  torch::autograd::variable_list operator()(
      const torch::autograd::variable_list& outputs,
      const torch::autograd::variable_list& /*inputs*/) override {
    if (*callback_) (*callback_)(parameter_);
    return outputs;
  }

 private:
  const std::function<void(size_t)>* callback_;  // lives as long as the network
  size_t parameter_;
};

at::Tensor View(std::span<float> buffer, const ParameterInfo& info) {
  return at::from_blob(buffer.data() + info.offset, info.shape, at::kFloat);
}

}  // namespace

void ParameterStore::Bind(uint64_t seed, int gradient_tail,
                          std::span<float> gradient_memory) {
  const int64_t floats = layout.buffer_floats();
  value_buffer_.emplace(floats);
  layout.Initialise(seed, value_buffer_->span());
  if (gradient_memory.empty()) {
    gradient_buffer_.emplace(floats + gradient_tail);
    gradient_span_ = gradient_buffer_->span();
  } else {
    gradient_span_ = gradient_memory.first(static_cast<size_t>(floats + gradient_tail));
    std::fill(gradient_span_.begin(), gradient_span_.end(), 0.0F);
  }
  direct_.resize(layout.parameters().size(), false);
  stale_.resize(layout.parameters().size(), false);
  for (const ParameterInfo& info : layout.parameters()) {
    at::Tensor value = View(value_buffer_->span(), info);
    value.requires_grad_(true);
    // A gradient that exists already is added to in place, which keeps it a view.
    gradients_.push_back(View(gradient_span_, info));
    value.mutable_grad() = gradients_.back();
    auto accumulator = torch::autograd::impl::grad_accumulator(value);
    accumulator->add_post_hook(std::make_unique<ReadyHook>(&ready_, values_.size()));
    accumulators_.push_back(std::move(accumulator));
    values_.push_back(std::move(value));
  }
  if (statistics_layout.parameters().empty()) return;
  statistic_buffer_.emplace(statistics_layout.buffer_floats());
  statistics_layout.Initialise(seed, statistic_buffer_->span());
  for (const ParameterInfo& info : statistics_layout.parameters()) {
    statistics_.push_back(View(statistic_buffer_->span(), info));
  }
}

void ParameterStore::WriteDirectly(size_t parameter) {
  if (direct_.size() <= parameter) direct_.resize(parameter + 1, false);
  direct_[parameter] = true;
}

std::span<float> ParameterStore::FlatGradient(size_t parameter) {
  const ParameterInfo& info = layout.parameters()[parameter];
  return gradient_span_.subspan(static_cast<size_t>(info.offset),
                                static_cast<size_t>(info.count));
}

bool ParameterStore::TakeStale(size_t parameter) {
  const bool stale = stale_[parameter];
  stale_[parameter] = false;
  return stale;
}

void ParameterStore::ClearGradients() {
  for (size_t i = 0; i < direct_.size(); ++i) {
    if (direct_[i]) {
      stale_[i] = true;
    } else {
      const std::span<float> gradient = FlatGradient(i);
      std::fill(gradient.begin(), gradient.end(), 0.0F);
    }
  }
  const auto used = static_cast<size_t>(layout.buffer_floats());
  std::fill(gradient_span_.begin() + static_cast<std::ptrdiff_t>(used),
            gradient_span_.end(), 0.0F);
}

void ParameterStore::SettleGradients() {
  for (size_t i = 0; i < stale_.size(); ++i) {
    if (!TakeStale(i)) continue;
    const std::span<float> gradient = FlatGradient(i);
    std::fill(gradient.begin(), gradient.end(), 0.0F);
  }
}

}  // namespace stepslack::model

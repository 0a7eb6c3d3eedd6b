// Training losses.
#pragma once

#include <ATen/core/Tensor.h>

#include <string_view>

namespace stepslack::model {

enum class LossKind { kMae, kMse, kHuber };
LossKind LossKindOf(std::string_view name);

// Mean over all elements of |e|, e^2, or Huber's function of e with threshold 1 (Huber
// 1964).
at::Tensor MeanLoss(LossKind kind, const at::Tensor& output, const at::Tensor& target);
// Sum over rows of weights[row] * mean over the row's elements.
at::Tensor WeightedRowLoss(LossKind kind, const at::Tensor& output,
                           const at::Tensor& target, const at::Tensor& weights);

}  // namespace stepslack::model

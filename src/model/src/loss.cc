#include "loss.h"

#include <ATen/core/Reduction.h>
#include <ATen/ops/huber_loss.h>
#include <ATen/ops/l1_loss.h>
#include <ATen/ops/mse_loss.h>

namespace stepslack::model {
namespace {

at::Tensor Reduced(LossKind kind, const at::Tensor& output, const at::Tensor& target,
                   int64_t reduction) {
  switch (kind) {
    case LossKind::kMse:
      return at::mse_loss(output, target, reduction);
    case LossKind::kHuber:
      return at::huber_loss(output, target, reduction, 1.0);
    default:
      return at::l1_loss(output, target, reduction);
  }
}

}  // namespace

LossKind LossKindOf(std::string_view name) {
  if (name == "mse") return LossKind::kMse;
  return name == "huber" ? LossKind::kHuber : LossKind::kMae;
}

at::Tensor MeanLoss(LossKind kind, const at::Tensor& output, const at::Tensor& target) {
  return Reduced(kind, output, target, at::Reduction::Mean);
}

at::Tensor WeightedRowLoss(LossKind kind, const at::Tensor& output,
                           const at::Tensor& target, const at::Tensor& weights) {
  const at::Tensor each = Reduced(kind, output, target, at::Reduction::None);
  return each.mean(1).mul(weights).sum();
}

}  // namespace stepslack::model

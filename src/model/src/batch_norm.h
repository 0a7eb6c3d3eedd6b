// Batch normalisation whose sums may run over several ranks.
#pragma once

#include <ATen/core/Tensor.h>

#include "block.h"

namespace stepslack::model {

struct BatchNormState {
  const at::Tensor& gain;   // [channels]
  const at::Tensor& shift;  // [channels]
  at::Tensor mean;          // running, updated in training
  at::Tensor variance;
};

// Normalises [samples, channels, ...] with the mean and variance of each channel over
// the whole batch (Ioffe and Szegedy 2015). Sums are taken in double and added up over
// ranks before use, in the backward pass as well, so that neither depends on how the
// batch is split; a rank may have no samples. `sum` null or empty: this rank alone.
// With `relu` negative results become zero in the same sweep over memory.
at::Tensor BatchNorm(const at::Tensor& input, const BatchNormState& state,
                     const SumOverRanks* sum, bool relu);
// The same with the running statistics, as in evaluation.
at::Tensor BatchNormOfRunning(const at::Tensor& input, const BatchNormState& state);

}  // namespace stepslack::model

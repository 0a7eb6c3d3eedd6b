// The linear layer, with gradients written straight into the flat buffer.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>

#include "parameter_store.h"

namespace stepslack::model {

struct LinearCall {
  size_t weights = 0;  // [out, in]
  size_t shift = 0;    // [out], if biased
  bool biased = false;
  bool bfloat16 = false;  // products of bfloat16 values, sums in float32
};

// input [rows, in] -> [rows, out], float32. The backward pass computes the product for
// the weights in place in the gradient buffer, without a temporary of the size of the
// weights: with few rows a step is bound by the traffic of weights, and this halves it.
at::Tensor Linear(const at::Tensor& input, const LinearCall& call,
                  ParameterStore& store);

}  // namespace stepslack::model

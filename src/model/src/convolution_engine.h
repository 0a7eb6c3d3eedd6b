// 3 x 3 convolutions by oneDNN itself, with its choice of algorithm in our hands.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <memory>

#include "parameter_store.h"

namespace stepslack::model {

// LibTorch calls oneDNN with the direct algorithm only. Winograd's minimal filtering
// F(4 x 4, 3 x 3) (Lavin and Gray 2016) multiplies a quarter as often, which on wide
// layers more than halves a training step. One engine belongs to one network.
class ConvolutionEngine {
 public:
  // Null where the program was built without oneDNN.
  static std::unique_ptr<ConvolutionEngine> Create();
  virtual ~ConvolutionEngine() = default;

  // input [samples, in, height, width] and parameter `kernel` [out, in, 3, 3] of
  // `store` -> [samples, out, height, width], zeros around, with a graph for autograd.
  // The gradient of the kernel is written straight into the gradient buffer.
  virtual at::Tensor Apply(size_t kernel, const at::Tensor& input,
                           ParameterStore& store) = 0;
};

}  // namespace stepslack::model

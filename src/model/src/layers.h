// The layers that architectures are made of. Each adds its parameters when it is made,
// applies itself to a tensor, and writes itself as TorchScript.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "block.h"

namespace stepslack::model {

enum class NormKind { kGroup, kBatch, kSyncBatch, kNone };
NormKind NormKindOf(std::string_view name);

// "self.encoder_0_a_kernel" for "encoder.0.a.kernel".
std::string ScriptName(std::string_view parameter);

// Norm of the channels (dimension 1). kNone has only a shift, which the product before
// it adds as its bias.
struct NormLayer {
  NormKind kind = NormKind::kGroup;
  std::string name;
  size_t gain = 0;
  size_t shift = 0;
  int64_t groups = 1;
  size_t mean = 0;  // into the statistics
  size_t variance = 0;
};
NormLayer AddNorm(ParameterStore& store, const std::string& name, int64_t channels,
                  NormKind kind);
// The norm, then ReLU.
at::Tensor ApplyWithRelu(const NormLayer& norm, Pass& pass, const at::Tensor& input);
// An expression.
std::string Script(const NormLayer& norm, const std::string& input);

// 3 x 3 convolution (zeros around), norm, ReLU.
struct ConvolutionLayer {
  std::string name;
  size_t kernel = 0;
  int64_t dilation = 1;
  NormLayer norm;
};
ConvolutionLayer AddConvolution(ParameterStore& store, const std::string& name,
                                int64_t in, int64_t out, int64_t dilation,
                                NormKind kind);
at::Tensor Apply(const ConvolutionLayer& layer, Pass& pass, const at::Tensor& input);
std::string Script(const ConvolutionLayer& layer, const std::string& input);

// A product without norm or ReLU, with its bias.
struct PlainLayer {
  std::string name;
  size_t weights = 0;
  size_t shift = 0;
};
// 1 x 1 convolution [out, in, 1, 1].
PlainLayer AddHead(ParameterStore& store, const std::string& name, int64_t in,
                   int64_t out);
at::Tensor ApplyHead(const PlainLayer& layer, Pass& pass, const at::Tensor& input);
std::string ScriptHead(const PlainLayer& layer, const std::string& input);
// 2 x 2 transposed convolution of stride 2, [in, out, 2, 2].
PlainLayer AddUp(ParameterStore& store, const std::string& name, int64_t in,
                 int64_t out);
at::Tensor ApplyUp(const PlainLayer& layer, Pass& pass, const at::Tensor& input);
std::string ScriptUp(const PlainLayer& layer, const std::string& input);

// y = x W^T + b, W [out, in].
struct LinearLayer {
  std::string name;
  size_t weights = 0;
  size_t shift = 0;
  bool biased = true;
};
LinearLayer AddLinear(ParameterStore& store, const std::string& name, int64_t in,
                      int64_t out, double gain);
LinearLayer AddUnbiasedLinear(ParameterStore& store, const std::string& name,
                              int64_t in, int64_t out, double gain);
at::Tensor Apply(const LinearLayer& layer, Pass& pass, const at::Tensor& input);
std::string Script(const LinearLayer& layer, const std::string& input);

// A linear layer and its norm; without a norm its shift is the bias.
struct NormalisedLinear {
  LinearLayer product;
  NormLayer norm;
};
NormalisedLinear AddNormalisedLinear(ParameterStore& store, const std::string& name,
                                     int64_t in, int64_t out, NormKind kind);
std::string Script(const NormalisedLinear& layer, const std::string& input);

}  // namespace stepslack::model

#include "layers.h"

#include <ATen/ops/conv2d.h>
#include <ATen/ops/conv_transpose2d.h>
#include <ATen/ops/group_norm.h>
#include <ATen/ops/relu.h>
#include <fmt/format.h>

#include <algorithm>

#include "batch_norm.h"
#include "batch_norm_math.h"
#include "linear.h"

namespace stepslack::model {
namespace {

using at::Tensor;

constexpr int64_t kChannelsPerGroup = 8;
constexpr int64_t kKernel = 3;
constexpr double kHeadGain = 0.1;   // starts close to a constant map...
constexpr double kHeadStart = 1.0;  // ...of the mean target

// The precision of products; what leaves a layer is float32 again.
Tensor ForProduct(const Pass& pass, const Tensor& tensor) {
  return pass.bfloat16 ? tensor.to(at::kBFloat16) : tensor;
}
Tensor FromProduct(const Pass& pass, const Tensor& tensor) {
  return pass.bfloat16 ? tensor.to(at::kFloat) : tensor;
}

bool HasShiftOnly(const NormLayer& norm) { return norm.kind == NormKind::kNone; }

bool HasStatistics(const NormLayer& norm) {
  return norm.kind == NormKind::kBatch || norm.kind == NormKind::kSyncBatch;
}

// `relu` is honoured only by batch norms in training.
Tensor Normed(const NormLayer& norm, Pass& pass, const Tensor& input, bool relu) {
  if (HasShiftOnly(norm)) return input;
  const Tensor& gain = pass.store.value(norm.gain);
  const Tensor& shift = pass.store.value(norm.shift);
  if (norm.kind == NormKind::kGroup) {
    return at::group_norm(input, norm.groups, gain, shift, kNormEpsilon);
  }
  const BatchNormState state{gain, shift, pass.store.statistic(norm.mean),
                             pass.store.statistic(norm.variance)};
  if (!pass.training) return BatchNormOfRunning(input, state);
  const bool sync = norm.kind == NormKind::kSyncBatch;
  return BatchNorm(input, state, sync ? &pass.sum_over_ranks : nullptr, relu);
}

Tensor Product(const ConvolutionLayer& layer, Pass& pass, const Tensor& input) {
  const Tensor& kernel = pass.store.value(layer.kernel);
  Tensor bias;
  if (HasShiftOnly(layer.norm)) bias = pass.store.value(layer.norm.shift);
  // oneDNN takes no empty batch.
  if (pass.convolutions != nullptr && layer.dilation == 1 && input.size(0) > 0) {
    const Tensor output = pass.convolutions->Apply(layer.kernel, input, pass.store);
    return bias.defined() ? output.add(bias.view({1, -1, 1, 1})) : output;
  }
  if (bias.defined()) bias = ForProduct(pass, bias);
  return FromProduct(
      pass, at::conv2d(ForProduct(pass, input), ForProduct(pass, kernel), bias, 1,
                       layer.dilation * (kKernel / 2), layer.dilation));
}

}  // namespace

NormKind NormKindOf(std::string_view name) {
  if (name == "batch") return NormKind::kBatch;
  if (name == "sync_batch") return NormKind::kSyncBatch;
  return name == "none" ? NormKind::kNone : NormKind::kGroup;
}

std::string ScriptName(std::string_view parameter) {
  std::string name = "self." + std::string(parameter);
  std::replace(name.begin() + 5, name.end(), '.', '_');
  return name;
}

NormLayer AddNorm(ParameterStore& store, const std::string& name, int64_t channels,
                  NormKind kind) {
  NormLayer norm;
  norm.kind = kind;
  norm.name = name;
  if (kind != NormKind::kNone) {
    norm.gain = store.layout.AddVector(name + ".gain", channels, 1.0);
  }
  norm.shift = store.layout.AddVector(name + ".shift", channels, 0.0);
  norm.groups = channels % kChannelsPerGroup == 0 ? channels / kChannelsPerGroup : 1;
  if (HasStatistics(norm)) {
    norm.mean = store.statistics_layout.AddVector(name + ".mean", channels, 0.0);
    norm.variance =
        store.statistics_layout.AddVector(name + ".variance", channels, 1.0);
  }
  return norm;
}

Tensor ApplyWithRelu(const NormLayer& norm, Pass& pass, const Tensor& input) {
  Tensor normed = Normed(norm, pass, input, true);
  return pass.training && HasStatistics(norm) ? normed : at::relu_(normed);
}

std::string Script(const NormLayer& norm, const std::string& input) {
  const std::string gain = ScriptName(norm.name + ".gain");
  const std::string shift = ScriptName(norm.name + ".shift");
  switch (norm.kind) {
    case NormKind::kNone:
      return input;
    case NormKind::kGroup:
      return fmt::format("torch.group_norm({}, {}, {}, {}, {}, False)", input,
                         norm.groups, gain, shift, kNormEpsilon);
    default:
      return fmt::format("torch.batch_norm({}, {}, {}, {}, {}, False, 0.1, {}, False)",
                         input, gain, shift, ScriptName(norm.name + ".mean"),
                         ScriptName(norm.name + ".variance"), kNormEpsilon);
  }
}

ConvolutionLayer AddConvolution(ParameterStore& store, const std::string& name,
                                int64_t in, int64_t out, int64_t dilation,
                                NormKind kind) {
  ConvolutionLayer layer;
  layer.name = name;
  layer.kernel = store.layout.AddKernel(name + ".kernel", out, in, kKernel, 1.0);
  layer.dilation = dilation;
  layer.norm = AddNorm(store, name, out, kind);
  return layer;
}

Tensor Apply(const ConvolutionLayer& layer, Pass& pass, const Tensor& input) {
  return ApplyWithRelu(layer.norm, pass, Product(layer, pass, input));
}

std::string Script(const ConvolutionLayer& layer, const std::string& input) {
  const std::string bias =
      HasShiftOnly(layer.norm) ? ScriptName(layer.name + ".shift") : "None";
  const std::string product =
      fmt::format("torch.conv2d({0}, {1}, {2}, [1, 1], [{3}, {3}], [{3}, {3}], 1)",
                  input, ScriptName(layer.name + ".kernel"), bias, layer.dilation);
  return "torch.relu(" + Script(layer.norm, product) + ")";
}

PlainLayer AddHead(ParameterStore& store, const std::string& name, int64_t in,
                   int64_t out) {
  return {name, store.layout.AddKernel(name + ".kernel", out, in, 1, kHeadGain),
          store.layout.AddVector(name + ".shift", out, kHeadStart)};
}

Tensor ApplyHead(const PlainLayer& layer, Pass& pass, const Tensor& input) {
  return at::conv2d(input, pass.store.value(layer.weights),
                    pass.store.value(layer.shift));
}

std::string ScriptHead(const PlainLayer& layer, const std::string& input) {
  return fmt::format("torch.conv2d({}, {}, {}, [1, 1], [0, 0], [1, 1], 1)", input,
                     ScriptName(layer.name + ".kernel"),
                     ScriptName(layer.name + ".shift"));
}

PlainLayer AddUp(ParameterStore& store, const std::string& name, int64_t in,
                 int64_t out) {
  // Each output pixel sees one input pixel; no ReLU follows, so half the variance.
  return {name, store.layout.AddWeights(name + ".kernel", {in, out, 2, 2}, 2 * in, 1.0),
          store.layout.AddVector(name + ".shift", out, 0.0)};
}

Tensor ApplyUp(const PlainLayer& layer, Pass& pass, const Tensor& input) {
  // In float32 always: LibTorch 1.13 has no bfloat16 transposed convolution.
  return at::conv_transpose2d(input, pass.store.value(layer.weights),
                              pass.store.value(layer.shift), 2);
}

std::string ScriptUp(const PlainLayer& layer, const std::string& input) {
  return fmt::format(
      "torch.conv_transpose2d({}, {}, {}, [2, 2], [0, 0], [0, 0], 1, [1, 1])", input,
      ScriptName(layer.name + ".kernel"), ScriptName(layer.name + ".shift"));
}

LinearLayer AddLinear(ParameterStore& store, const std::string& name, int64_t in,
                      int64_t out, double gain) {
  LinearLayer layer = AddUnbiasedLinear(store, name, in, out, gain);
  layer.biased = true;
  layer.shift = store.layout.AddVector(name + ".shift", out, 0.0);
  store.WriteDirectly(layer.shift);
  return layer;
}

LinearLayer AddUnbiasedLinear(ParameterStore& store, const std::string& name,
                              int64_t in, int64_t out, double gain) {
  LinearLayer layer;
  layer.name = name;
  layer.weights = store.layout.AddWeights(name + ".weights", {out, in}, in, gain);
  layer.biased = false;
  store.WriteDirectly(layer.weights);
  return layer;
}

Tensor Apply(const LinearLayer& layer, Pass& pass, const Tensor& input) {
  LinearCall call;
  call.weights = layer.weights;
  call.shift = layer.shift;
  call.biased = layer.biased;
  call.bfloat16 = pass.bfloat16;
  return Linear(input, call, pass.store);
}

std::string Script(const LinearLayer& layer, const std::string& input) {
  return fmt::format("torch.linear({}, {}, {})", input,
                     ScriptName(layer.name + ".weights"),
                     layer.biased ? ScriptName(layer.name + ".shift") : "None");
}

NormalisedLinear AddNormalisedLinear(ParameterStore& store, const std::string& name,
                                     int64_t in, int64_t out, NormKind kind) {
  NormalisedLinear layer;
  layer.product = AddUnbiasedLinear(store, name, in, out, 1.0);
  layer.norm = AddNorm(store, name, out, kind);
  if (HasShiftOnly(layer.norm)) {
    layer.product.biased = true;
    layer.product.shift = layer.norm.shift;
    store.WriteDirectly(layer.norm.shift);
  }
  return layer;
}

std::string Script(const NormalisedLinear& layer, const std::string& input) {
  return Script(layer.norm, Script(layer.product, input));
}

}  // namespace stepslack::model

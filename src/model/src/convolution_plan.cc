#include "convolution_plan.h"

#include <ATen/ops/empty.h>

#include <algorithm>

namespace stepslack::model {
namespace {

using dnnl::algorithm;
using dnnl::memory;
using dnnl::prop_kind;

constexpr int64_t kKernel = 3;
constexpr int64_t kLeastWinogradChannels = 16;

memory::desc Describe(const memory::dims& dims, memory::format_tag tag) {
  return {dims, memory::data_type::f32, tag};
}

// Working memory from the allocator of the tensor library, which keeps it for the next
// step.
at::Tensor Floats(const memory::desc& desc) {
  return at::empty({static_cast<int64_t>(desc.get_size() / sizeof(float)) + 1},
                   at::kFloat);
}

float* Data(const at::Tensor& tensor) { return tensor.data_ptr<float>(); }

}  // namespace

Relayout::Relayout(const dnnl::engine& engine, const memory::desc& from,
                   const memory::desc& to)
    : from_(from), to_(to), needed_(from != to) {
  if (!needed_) return;
  reorder_ = dnnl::reorder(dnnl::reorder::primitive_desc(engine, from, engine, to));
}

void Relayout::Run(dnnl::stream& stream, const float* from, float* to) const {
  const dnnl::engine engine = stream.get_engine();
  memory source(from_, engine, const_cast<float*>(from));  // only read
  memory sink(to_, engine, to);
  reorder_.execute(stream, {{DNNL_ARG_FROM, source}, {DNNL_ARG_TO, sink}});
}

ConvolutionPlan::ConvolutionPlan(const dnnl::engine& engine,
                                 const ConvolutionShape& shape)
    : shape_(shape), engine_(engine) {
  using Tag = memory::format_tag;
  plain_input_ =
      Describe({shape.samples, shape.in, shape.height, shape.width}, Tag::nchw);
  plain_kernel_ = Describe({shape.out, shape.in, kKernel, kKernel}, Tag::oihw);
  plain_output_ =
      Describe({shape.samples, shape.out, shape.height, shape.width}, Tag::nchw);
  try {
    // With few input channels the transforms cost more than the products they save.
    Build(shape.in < kLeastWinogradChannels ? algorithm::convolution_direct
                                            : algorithm::convolution_winograd);
  } catch (const dnnl::error&) {  // not for this shape or processor
    Build(algorithm::convolution_direct);
  }
  BuildRelayouts();
}

void ConvolutionPlan::Build(algorithm chosen) {
  const auto any = [](const memory::desc& plain) {
    return memory::desc(plain.dims(), memory::data_type::f32, memory::format_tag::any);
  };
  const memory::desc input = any(plain_input_);
  const memory::desc kernel = any(plain_kernel_);
  const memory::desc output = any(plain_output_);
  const memory::dims stride = {1, 1};
  const memory::dims border = {kKernel / 2, kKernel / 2};
  forward_desc_ = {{prop_kind::forward_training, chosen, input, kernel, output, stride,
                    border, border},
                   engine_};
  data_desc_ = {
      {chosen, input, kernel, output, stride, border, border}, engine_, forward_desc_};
  weights_desc_ = {
      {chosen, input, kernel, output, stride, border, border}, engine_, forward_desc_};
  forward_ = dnnl::convolution_forward(forward_desc_);
  data_ = dnnl::convolution_backward_data(data_desc_);
  weights_ = dnnl::convolution_backward_weights(weights_desc_);
}

void ConvolutionPlan::BuildRelayouts() {
  input_in_ = {engine_, plain_input_, forward_desc_.src_desc()};
  kernel_in_ = {engine_, plain_kernel_, forward_desc_.weights_desc()};
  output_out_ = {engine_, forward_desc_.dst_desc(), plain_output_};
  slope_in_ = {engine_, plain_output_, data_desc_.diff_dst_desc()};
  data_kernel_in_ = {engine_, plain_kernel_, data_desc_.weights_desc()};
  input_slope_out_ = {engine_, data_desc_.diff_src_desc(), plain_input_};
  slope_again_ = {engine_, plain_output_, weights_desc_.diff_dst_desc()};
  input_again_ = {engine_, forward_desc_.src_desc(), weights_desc_.src_desc()};
  kernel_slope_out_ = {engine_, weights_desc_.diff_weights_desc(), plain_kernel_};
}

int64_t ConvolutionPlan::packed_input_floats() const {
  return static_cast<int64_t>(forward_desc_.src_desc().get_size() / sizeof(float));
}

void ConvolutionPlan::PackInput(dnnl::stream& stream, const float* input,
                                float* packed) const {
  if (input_in_.needed()) {
    input_in_.Run(stream, input, packed);
  } else {
    std::copy_n(input, packed_input_floats(), packed);
  }
}

void ConvolutionPlan::Forward(dnnl::stream& stream, float* packed_input,
                              const float* kernel, float* output) const {
  const at::Tensor packed_kernel = Floats(forward_desc_.weights_desc());
  const at::Tensor packed_output = Floats(forward_desc_.dst_desc());
  float* weights = const_cast<float*>(kernel);  // only read
  if (kernel_in_.needed()) {
    weights = Data(packed_kernel);
    kernel_in_.Run(stream, kernel, weights);
  }
  float* result = output_out_.needed() ? Data(packed_output) : output;
  forward_.execute(
      stream,
      {{DNNL_ARG_SRC, memory(forward_desc_.src_desc(), engine_, packed_input)},
       {DNNL_ARG_WEIGHTS, memory(forward_desc_.weights_desc(), engine_, weights)},
       {DNNL_ARG_DST, memory(forward_desc_.dst_desc(), engine_, result)}});
  if (output_out_.needed()) output_out_.Run(stream, result, output);
}

void ConvolutionPlan::Backward(dnnl::stream& stream, float* packed_input,
                               const float* kernel, const float* output_slope,
                               float* input_slope, float* kernel_slope) const {
  float* const plain_slope = const_cast<float*>(output_slope);  // only read
  const at::Tensor packed_slope = Floats(data_desc_.diff_dst_desc());
  float* slope = plain_slope;
  if (slope_in_.needed()) {
    slope = Data(packed_slope);
    slope_in_.Run(stream, output_slope, slope);
  }
  if (input_slope != nullptr) {
    const at::Tensor packed_kernel = Floats(data_desc_.weights_desc());
    const at::Tensor packed_result = Floats(data_desc_.diff_src_desc());
    data_kernel_in_.needed()
        ? data_kernel_in_.Run(stream, kernel, Data(packed_kernel))
        : void(std::copy_n(kernel, packed_kernel.numel() - 1, Data(packed_kernel)));
    float* result = input_slope_out_.needed() ? Data(packed_result) : input_slope;
    data_.execute(
        stream,
        {{DNNL_ARG_DIFF_DST, memory(data_desc_.diff_dst_desc(), engine_, slope)},
         {DNNL_ARG_WEIGHTS,
          memory(data_desc_.weights_desc(), engine_, Data(packed_kernel))},
         {DNNL_ARG_DIFF_SRC, memory(data_desc_.diff_src_desc(), engine_, result)}});
    if (input_slope_out_.needed()) input_slope_out_.Run(stream, result, input_slope);
  }
  at::Tensor other_slope;
  if (weights_desc_.diff_dst_desc() != data_desc_.diff_dst_desc()) {
    slope = plain_slope;
    if (slope_again_.needed()) {
      other_slope = Floats(weights_desc_.diff_dst_desc());
      slope = Data(other_slope);
      slope_again_.Run(stream, output_slope, slope);
    }
  }
  at::Tensor other_input;
  if (input_again_.needed()) {
    other_input = Floats(weights_desc_.src_desc());
    input_again_.Run(stream, packed_input, Data(other_input));
    packed_input = Data(other_input);
  }
  const at::Tensor packed_weights = Floats(weights_desc_.diff_weights_desc());
  float* result = kernel_slope_out_.needed() ? Data(packed_weights) : kernel_slope;
  weights_.execute(
      stream,
      {{DNNL_ARG_SRC, memory(weights_desc_.src_desc(), engine_, packed_input)},
       {DNNL_ARG_DIFF_DST, memory(weights_desc_.diff_dst_desc(), engine_, slope)},
       {DNNL_ARG_DIFF_WEIGHTS,
        memory(weights_desc_.diff_weights_desc(), engine_, result)}});
  if (kernel_slope_out_.needed()) kernel_slope_out_.Run(stream, result, kernel_slope);
}

}  // namespace stepslack::model

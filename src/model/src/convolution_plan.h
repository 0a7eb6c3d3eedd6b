// The oneDNN primitives of one 3 x 3 convolution of one shape.
#pragma once

#include <cstdint>
#include <dnnl.hpp>

namespace stepslack::model {

struct ConvolutionShape {
  int64_t samples = 0;
  int64_t in = 0;
  int64_t out = 0;
  int64_t height = 0;
  int64_t width = 0;
  bool operator==(const ConvolutionShape&) const = default;
};

// Copies a tensor from one memory layout to another; nothing when they are equal.
class Relayout {
 public:
  Relayout() = default;
  Relayout(const dnnl::engine& engine, const dnnl::memory::desc& from,
           const dnnl::memory::desc& to);
  bool needed() const { return needed_; }
  void Run(dnnl::stream& stream, const float* from, float* to) const;

 private:
  dnnl::memory::desc from_, to_;
  dnnl::reorder reorder_;
  bool needed_ = false;
};

// All arrays are dense row-major at this door ("plain") or in the layout that oneDNN
// prefers ("packed"); sizes of packed arrays are given in floats.
class ConvolutionPlan {
 public:
  ConvolutionPlan(const dnnl::engine& engine, const ConvolutionShape& shape);

  const ConvolutionShape& shape() const { return shape_; }
  int64_t packed_input_floats() const;

  // Packs the input for Forward and BackwardWeights.
  void PackInput(dnnl::stream& stream, const float* input, float* packed) const;
  void Forward(dnnl::stream& stream, float* packed_input, const float* kernel,
               float* output) const;
  // `input_slope` may be null: the input needs no gradient.
  void Backward(dnnl::stream& stream, float* packed_input, const float* kernel,
                const float* output_slope, float* input_slope,
                float* kernel_slope) const;

 private:
  void Build(dnnl::algorithm algorithm);
  void BuildRelayouts();

  ConvolutionShape shape_;
  dnnl::engine engine_;
  dnnl::memory::desc plain_input_, plain_kernel_, plain_output_;
  dnnl::convolution_forward::primitive_desc forward_desc_;
  dnnl::convolution_backward_data::primitive_desc data_desc_;
  dnnl::convolution_backward_weights::primitive_desc weights_desc_;
  dnnl::convolution_forward forward_;
  dnnl::convolution_backward_data data_;
  dnnl::convolution_backward_weights weights_;
  Relayout input_in_, kernel_in_, output_out_;
  Relayout slope_in_, data_kernel_in_, input_slope_out_;
  Relayout slope_again_, input_again_, kernel_slope_out_;
};

}  // namespace stepslack::model

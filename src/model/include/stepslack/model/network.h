// A trainable image-to-image network behind plain memory: parameters and gradients are
// two flat float32 buffers in one order, so that optimizer, gradient exchange and
// checkpoints need no tensor library. The tensor library is LibTorch, seen only in
// src/network.cc.
//
// Errors: MODEL-0001 size of the maps does not fit the network, MODEL-0002 option out
// of range, MODEL-0003 the tensor library refused an operation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "stepslack/base/result.h"
#include "stepslack/model/parameter_layout.h"

namespace stepslack::model {

// U-Net after Ronneberger et al. 2015, with GroupNorm (Wu and He 2018) in place of
// batch statistics, so that neither the loss nor the gradient depends on how a batch is
// split over ranks. The finest level is entered by pixel unshuffle and left by pixel
// shuffle (Shi et al. 2016): smooth maps lose nothing by it, and a step costs a third.
struct NetworkOptions {
  int input_planes = 1;
  int base_channels = 16;  // 1 .. 256: of the second level; doubled at each coarser one
  int levels = 5;          // 2 .. 8 resolutions, the finest one included
  uint64_t seed = 1;       // of the initial parameters
  int gradient_tail = 0;   // floats behind the gradients, for scalars that travel along
};

// Row-major [samples, planes, height, width] inputs, [samples, height, width] targets.
struct Batch {
  int64_t samples = 0;
  int64_t height = 0;
  int64_t width = 0;
  const float* inputs = nullptr;
  const float* targets = nullptr;  // not read by Predict
};

class Network {
 public:
  static base::Result<Network> Create(const NetworkOptions& options);
  Network(Network&&) noexcept;
  Network& operator=(Network&&) noexcept;
  ~Network();

  // In the order in which the forward pass uses them; offsets ascend, aligned to 64
  // bytes.
  const std::vector<ParameterInfo>& parameters() const;
  int64_t parameter_count() const;  // trainable scalars, without alignment gaps

  // Maps must be multiples of 2^(levels - 1) in both directions: MODEL-0001.
  base::Status CheckMapSize(int64_t height, int64_t width) const;

  // Flat buffers in layout order; the gradient buffer is longer by gradient_tail.
  std::span<float> values();
  std::span<float> gradients();

  // Called during Backward, on the calling thread, when the gradient of a parameter is
  // complete in `gradients()`.
  void OnGradientReady(std::function<void(size_t parameter)> callback);

  // Loss = weight * sum over samples of the mean absolute error of a sample's pixels.
  // Keeps what Backward needs. Gradients are added to: the caller clears them.
  base::Result<double> Forward(const Batch& batch, double weight);
  base::Status Backward();

  // Predictions [samples, height, width]; no gradient bookkeeping.
  base::Status Predict(const Batch& batch, std::span<float> predictions);

 private:
  struct State;
  explicit Network(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace stepslack::model

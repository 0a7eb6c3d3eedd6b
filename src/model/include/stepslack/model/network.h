// A trainable network behind plain memory: parameters and gradients are two flat
// float32 buffers in one order, so that optimizer, gradient exchange and checkpoints
// need no tensor library. The tensor library is LibTorch, seen only in src/.
//
// Errors: MODEL-0001 size of the maps does not fit the network, MODEL-0002 and
// MODEL-0010 option out of range, MODEL-0003 the tensor library refused an operation,
// MODEL-0011 a graph names what it does not have, MODEL-0012 gradient memory does not
// fit, MODEL-0013 a batch without data, MODEL-0014 blocks out of range.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "stepslack/base/result.h"
#include "stepslack/model/network_options.h"
#include "stepslack/model/parameter_layout.h"

namespace stepslack::model {

class Network {
 public:
  static base::Result<Network> Create(const NetworkOptions& options);
  // Length of the gradient buffer of such a network, tail included; nothing is built.
  static base::Result<int64_t> GradientFloats(const NetworkOptions& options);
  Network(Network&&) noexcept;
  Network& operator=(Network&&) noexcept;
  ~Network();

  // In the order in which the forward pass uses them; offsets ascend, aligned to 64
  // bytes.
  const std::vector<ParameterInfo>& parameters() const;
  int64_t parameter_count() const;  // trainable scalars, without alignment gaps
  const std::vector<BlockInfo>& blocks() const;

  // Maps of a unet must be multiples of 2^(levels - 1) in both directions: MODEL-0001.
  base::Status CheckMapSize(int64_t height, int64_t width) const;

  // Flat buffers in layout order; the gradient buffer is longer by gradient_tail.
  std::span<float> values();
  std::span<float> gradients();
  // Running means and variances of batch norms, in the order of statistics_layout();
  // empty for other norms. Not trained: Forward updates them (new = 0.9 old + 0.1
  // batch, variance with n - 1), Predict reads them, checkpoints must keep them.
  std::span<float> statistics();
  const std::vector<ParameterInfo>& statistics_layout() const;

  // Called during Backward, on the calling thread, when the gradient of a parameter is
  // complete in `gradients()`.
  void OnGradientReady(std::function<void(size_t parameter)> callback);

  // Called during Forward, on the calling thread, before a block reads its parameters
  // (blocks()[block]); an error ends the pass.
  void BeforeBlock(std::function<base::Status(size_t block)> callback);

  // The next Backward starts from zero. Cheaper than filling the buffer: where the next
  // Backward can write instead of adding, nothing is touched before it.
  void ClearGradients();

  // Loss = weight * sum over samples of the mean error of a sample's pixels, values or
  // nodes. Keeps what Backward needs. Gradients are added to: the caller clears them.
  // A rank without samples calls both all the same (samples = 0, no pointers read, but
  // the size of the maps is): it takes part in sums over ranks and adds zeros.
  base::Result<double> Forward(const Batch& batch, double weight);
  base::Status Backward();

  // Predictions, shaped as targets; no gradient bookkeeping.
  base::Status Predict(const Batch& batch, std::span<float> predictions);

  // Blocks [first, end) in evaluation: what enters block `first` (empty for block 0,
  // which reads the batch) becomes what leaves block end - 1. After the last block it
  // is the prediction alone. Front: the main activation; behind it, what later blocks
  // still need (skips of a unet, oldest first).
  base::Result<std::vector<Activation>> RunBlocks(
      size_t first, size_t end, const Batch& batch,
      const std::vector<Activation>& entering) const;

  // A TorchScript archive (.pt) for torch.jit.load: parameters and statistics as they
  // are now, forward(x) as Predict; forward(x, source, sink, graph_of_node, graphs)
  // for a gnn. MODEL-0015: the tensor library refused.
  base::Result<std::string> ExportTorchScript() const;

 private:
  struct State;
  explicit Network(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace stepslack::model

// What a Network holds.
#pragma once

#include <ATen/core/Tensor.h>

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "batch_norm_math.h"
#include "block.h"
#include "convolution_engine.h"
#include "loss.h"
#include "parameter_store.h"
#include "stepslack/model/network.h"

namespace stepslack::model {

struct Network::State {
  explicit State(const NetworkOptions& network_options);

  Pass MakePass(const Batch& batch, bool training);
  base::Status CheckBatch(const Batch& batch) const;
  at::Tensor LossOf(const at::Tensor& output, const Batch& batch, double weight) const;

  NetworkOptions options;
  LossKind loss_kind;
  bool of_maps;  // height and width are the map's own, not 1
  bool of_graphs;
  ParameterStore store;
  std::unique_ptr<ConvolutionEngine> convolutions;  // null: those of LibTorch
  std::vector<Block> blocks;
  std::vector<BlockInfo> block_infos;
  at::Tensor loss;
  std::function<base::Status(size_t)> before_block;  // may be empty
};

// "x [2, 3]": the first line of an exception of the tensor library.
std::string FirstLine(const std::exception& error);

}  // namespace stepslack::model

// One forward pass and the blocks it runs through.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "convolution_engine.h"
#include "parameter_store.h"
#include "stepslack/model/network_options.h"

namespace stepslack::model {

using SumOverRanks = std::function<base::Status(std::span<double>)>;

// The tensors of a GraphBatch.
struct GraphTensors {
  at::Tensor source;         // int64 [edges]
  at::Tensor sink;           // int64 [edges]
  at::Tensor graph_of_node;  // int64 [nodes]
  int64_t graphs = 0;
};

struct Pass {
  ParameterStore& store;
  const SumOverRanks& sum_over_ranks;  // may be empty: one rank
  bool training = false;
  bool bfloat16 = false;
  ConvolutionEngine* convolutions = nullptr;  // null: those of LibTorch
  at::Tensor x;                               // the main activation
  std::vector<at::Tensor> skips;              // what later blocks still need
  GraphTensors graph;
};

struct Block {
  std::string name;
  std::function<void(Pass&)> forward;
  std::string script;  // the same in TorchScript, statements on `x`
  size_t first_parameter = 0;
  size_t parameter_end = 0;
};

// Adds blocks while keeping count of the parameters that each added.
class BlockList {
 public:
  explicit BlockList(ParameterStore& store) : store_(store) {}
  void Add(std::string name, std::function<void(Pass&)> forward, std::string script) {
    const size_t end = store_.layout.parameters().size();
    blocks_.push_back(
        {std::move(name), std::move(forward), std::move(script), first_, end});
    first_ = end;
  }
  std::vector<Block> Take() { return std::move(blocks_); }

 private:
  ParameterStore& store_;
  size_t first_ = 0;
  std::vector<Block> blocks_;
};

std::vector<Block> BuildUnet(const NetworkOptions& options, ParameterStore& store);
std::vector<Block> BuildFcn(const NetworkOptions& options, ParameterStore& store);
std::vector<Block> BuildMlp(const NetworkOptions& options, ParameterStore& store);
std::vector<Block> BuildGnn(const NetworkOptions& options, ParameterStore& store);

}  // namespace stepslack::model

// What a network is made of, and what it is given to compute on.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "stepslack/base/result.h"

namespace stepslack::model {

// Four architectures, each a list of blocks (docs/models.md has the exact definitions).
//   unet  U-Net after Ronneberger et al. 2015. Stem "shuffle": the finest level is
//         entered by pixel unshuffle and left by pixel shuffle (Shi et al. 2016), up
//         by repetition: smooth maps lose nothing by it, and a step costs a third.
//         Stem "plain": convolutions at full resolution, up by 2 x 2 transposed
//         convolution.
//   fcn   3 x 3 convolutions at full resolution, dilated 1, 2, 4, ... (Yu and Koltun
//         2016); one block a hidden width.
//   mlp   Linear layers with ReLU between, for tables.
//   gnn   Message passing on directed graphs: mean over predecessors, mean over
//         successors, residual (GraphSAGE, Hamilton et al. 2017).
struct NetworkOptions {
  int input_planes = 1;    // planes of a map, or features of a row or node
  int base_channels = 16;  // 1 .. 256, unet: of the finest convolutions; doubled at
                           // each coarser level
  int levels = 5;          // unet: 2 .. 8 resolutions, the finest one included
  uint64_t seed = 1;       // of the initial parameters
  int gradient_tail = 0;   // floats behind the gradients, for scalars that travel along

  std::string architecture = "unet";
  std::vector<int> hidden;       // fcn, mlp, gnn: 1 .. 64 widths of 1 .. 8192
  std::string stem = "shuffle";  // unet: shuffle or plain
  std::string norm = "group";    // group, batch, sync_batch or none
  std::string loss = "mae";      // mae, mse or huber (threshold 1)
  std::string precision =
      "float32";              // or bfloat16: products only; the state is float32
  int outputs = 1;            // planes or values predicted, 1 .. 4096
  bool node_targets = false;  // gnn: a target a node, else one a graph
  // Plain unet and fcn on a CPU: 3 x 3 convolutions by Winograd's F(4 x 4, 3 x 3)
  // (Lavin and Gray 2016) where the shapes allow. Rounding differs from the direct sum
  // (about 1e-5 of the largest value); a run repeats bit by bit all the same.
  bool winograd = true;
  // Where gradients go, 64-byte aligned and at least GradientFloats() long; it must
  // outlive the network. Empty: the network owns them.
  std::span<float> gradient_memory;
  // sync_batch: adds the values up over all ranks, in place, in the same order on each.
  // Called from Forward and Backward on the calling thread. Empty: one rank.
  std::function<base::Status(std::span<double>)> sum_over_ranks;
};

// A disjoint union of directed graphs.
struct GraphBatch {
  int64_t nodes = 0;
  int64_t edges = 0;
  const int64_t* source = nullptr;         // [edges], 0 .. nodes - 1
  const int64_t* sink = nullptr;           // [edges]
  const int64_t* graph_of_node = nullptr;  // [nodes], 0 .. samples - 1; null: all 0
};

// Maps: inputs [samples, planes, height, width], targets [samples, outputs, height,
// width], row-major. Tables: height = width = 1. Graphs: samples counts the graphs,
// inputs [nodes, features], targets [samples, outputs] or [nodes, outputs].
struct Batch {
  int64_t samples = 0;
  int64_t height = 0;
  int64_t width = 0;
  const float* inputs = nullptr;
  const float* targets = nullptr;  // not read by Predict
  GraphBatch graph;
};

// A part of a network that can be computed on its own: [first_parameter, parameter_end)
// of parameters(). Blocks stand in the order of computation.
struct BlockInfo {
  std::string name;  // "encoder.1"
  size_t first_parameter = 0;
  size_t parameter_end = 0;
};

// What passes from one block to the next.
struct Activation {
  std::vector<int64_t> shape;
  std::vector<float> values;
};

}  // namespace stepslack::model

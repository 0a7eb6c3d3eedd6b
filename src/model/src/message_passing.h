// Means over the neighbours of graph nodes.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "block.h"

namespace stepslack::model {

// row r of the result = mean of x[from[i]] over all i with to[i] == r; zero where there
// is none. Differentiable in x. The order of summation is that of the list, so a
// result repeats bit by bit.
at::Tensor MeanInto(const at::Tensor& x, const at::Tensor& from, const at::Tensor& to,
                    int64_t rows);

// 0, 1, ..., count - 1.
at::Tensor CountUp(int64_t count);

// MODEL-0011 when an index is out of range.
base::Status CheckGraph(const GraphBatch& graph, int64_t graphs);
// Views of the caller's arrays, which must outlive them.
GraphTensors TensorsOf(const GraphBatch& graph, int64_t graphs);

}  // namespace stepslack::model

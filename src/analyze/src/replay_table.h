// The steps of an op trace that can be replayed, as one graph with a lane per step.
#pragma once

#include <cstdint>
#include <vector>

#include "op_graph.h"
#include "pipeline_graph.h"
#include "stepslack/analyze/what_if.h"
#include "stepslack/trace/op_trace.h"

namespace stepslack::analyze {

// Operation d * ops.size() + i is operation i of data-parallel rank d; its value in
// lane l stands at [operation * steps.size() + l].
struct ReplayTable {
  PipelineSize size;
  std::vector<PipelineOp> ops;  // of one data-parallel rank, times of the first step
  PipelineLinks links;
  OpGraph graph;
  std::vector<int64_t> steps;         // ascending
  std::vector<int64_t> measured_ns;   // per step
  std::vector<int64_t> durations_ns;  // computations whole, communication its transfer
  std::vector<int32_t> rank_of;       // [dp rank * stages + stage]
  std::vector<WhatIfLeftOut> left_out;
  int64_t ops_of_other_ranks = 0;

  size_t workers() const { return rank_of.size(); }
  size_t graph_ops() const { return graph.ops(); }
};

// Errors: ANL-0144, ANL-0145.
base::Result<ReplayTable> MakeReplayTable(const trace::OpTrace& trace);

}  // namespace stepslack::analyze

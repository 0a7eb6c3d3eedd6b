// What waits for what in one step of a job that is parallel over data and pipeline
// stages, after arXiv 2505.05713 and its artifact. Dependencies follow from the order
// of the operations on a worker and from the pairing of sends with receives; they are
// taken from one data-parallel rank and hold for all.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "op_graph.h"
#include "stepslack/base/result.h"
#include "stepslack/trace/op_trace.h"

namespace stepslack::analyze {

// An operation of one data-parallel rank in one step.
struct PipelineOp {
  trace::OpType type = trace::OpType::kGc;
  int32_t stage = 0;
  int32_t seq = 0;
  int32_t chunk = -1;
  int32_t global_chunk = -1;  // -1: chunk * stages + stage
  int64_t start_ns = 0;
  int64_t end_ns = 0;
};

struct PipelineSize {
  int32_t dp_size = 1;
  int32_t pp_size = 1;
  int32_t vpp_size = 1;
};

// Dependencies among the operations of all data-parallel ranks: operation i of rank d
// has index d * ops.size() + i.
struct PipelineLinks {
  std::vector<OpEdge> edges;
  std::vector<std::vector<OpIndex>> groups;  // two operations or more each

  friend bool operator==(const PipelineLinks& a, const PipelineLinks& b);
};

// `ops` sorted by stage, type and sequence number, without repetition, stages below
// size.pp_size. Fails with ANL-0142 (sends, receives and computations that cannot be
// matched). O(n log n).
//
// Rules: computations of a stage form a chain; sends of one direction, and receives, a
// chain each. The k-th send of a stage waits for its k-th computation; the k-th
// computation waits for the k-th receive, and that for the computation before. A send
// and its receive, a data-parallel collective over all its ranks, the embedding
// all-reduce of the first and the last stage, and the gradient clipping of all workers
// are groups. Sends and receives that reach outside the model, or that stand before the
// first (after the last) computation, are recorded but never launched: they have no
// partner. Parameters are gathered before the first forward computation of their chunk;
// after the last computation come gc, layer norm, embedding, gradient, clipping and
// optimizer.
base::Result<PipelineLinks> LinkPipeline(std::span<const PipelineOp> ops,
                                         const PipelineSize& size);

}  // namespace stepslack::analyze

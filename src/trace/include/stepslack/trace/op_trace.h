// Reads op traces of the straggler what-if analysis ("Understanding
// Stragglers in Large Model Training Using What-if Analysis", arXiv 2505.05713;
// artifact ByteDance-Seed/StragglerAnalysis): one row per operation of one worker of a
// job that is parallel over data (dp rank) and pipeline stages. One worker per (dp
// rank, stage) is traced, whatever the tensor-parallel size.
//
// The table is CSV, plain or gzip-compressed, comma-separated, columns in any order:
// dp_rank, stage, rank, step, optype, start_ts and duration in seconds (start_ts since
// the start of the step), seq_id (k-th of its type on that worker in that step), mc and
// gmc (model chunk within the stage, within the model), mb_id (micro batch). Other
// columns are ignored and counted. Decimal seconds become int64 ns without a double.
//
// The job is described by flat YAML, one `key: value` a line: trial_name, dp_size,
// pp_size, tp_size, dsp_size, vpp_size, world_size.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "stepslack/base/result.h"
#include "stepslack/trace/import_stats.h"

namespace stepslack::trace {

enum class OpType : uint8_t {
  kForwardCompute,
  kBackwardCompute,
  kForwardSend,
  kForwardRecv,
  kBackwardSend,
  kBackwardRecv,
  kParamsAllGather,
  kGradsReduceScatter,
  kLayernormGradsAllReduce,
  kEmbeddingGradsAllReduce,
  kSeparateGradsAllReduce,
  kOptimizerClipMainGrad,
  kOptimizer,
  kGc
};
constexpr int kOpTypes = 14;

std::string_view ToString(OpType type);  // as in the file: "forward-compute"

// Sizes of the job; every size is at least 1.
struct OpJob {
  std::string trial_name;   // empty: not said
  int32_t dp_size = 1;      // data-parallel ranks
  int32_t pp_size = 1;      // pipeline stages
  int32_t tp_size = 1;      // tensor-parallel ranks
  int32_t dsp_size = 1;     // sequence-parallel ranks
  int32_t vpp_size = 1;     // model chunks per stage
  int32_t world_size = 1;   // dp * pp * tp * dsp
  bool from_trace = false;  // derived from the columns, not told
};

// Column i of every vector is operation i. Sorted by step, dp rank, stage, rank, type
// and sequence number, so that the order in the file has no influence. Chunk and micro
// batch are -1 where the operation has none.
struct OpTrace {
  std::vector<int64_t> step;
  std::vector<int32_t> dp_rank;
  std::vector<int32_t> stage;
  std::vector<int32_t> rank;
  std::vector<OpType> type;
  std::vector<int32_t> seq;
  std::vector<int64_t> start_ns;  // since the start of its step
  std::vector<int64_t> duration_ns;
  std::vector<int32_t> chunk;         // within the stage
  std::vector<int32_t> global_chunk;  // within the model
  std::vector<int32_t> micro_batch;
  OpJob job;
  ImportStats stats;

  size_t size() const { return step.size(); }
};

struct OpTraceOptions {
  int64_t max_bytes = int64_t{4} << 30;  // of the inflated text
};

// True when the first line names the columns of an op trace.
bool LooksLikeOpTrace(std::string_view text);

// `job` empty: derived from the columns (tensor-parallel size from the spacing of the
// ranks). Not used, and counted: rows with missing or unreadable cells, unknown types,
// negative durations, dp rank or stage outside the job, and operations that occur twice
// (the earliest is kept). Errors: TRACE-0140 (a column is missing), TRACE-0141 (no
// usable row); from the file also TRACE-0003, TRACE-0002 (larger than max_bytes). A
// gzip stream that ends early gives what came before, counted as "input ended inside".
base::Result<OpTrace> ParseOpTrace(std::string_view csv, std::string_view job,
                                   std::string_view name);
// `job_path` may be empty.
base::Result<OpTrace> ReadOpTrace(const std::string& csv_path,
                                  const std::string& job_path,
                                  const OpTraceOptions& options = {});

}  // namespace stepslack::trace

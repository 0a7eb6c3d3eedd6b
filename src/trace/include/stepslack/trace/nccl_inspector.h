// Reads the output of NCCL's Inspector plugin: one JSON object per finished operation
// and communicator, one file per process.
//
// The format: ext-profiler/inspector of NVIDIA/nccl, output versions v4.0 and v5.0
// ("header", "metadata", "coll_perf" or "p2p_perf"). Objects may also lie over several
// lines, and the members of the header may stand at the root, as some re-writers do.
// An object with a header and no operation describes the communicator; operations
// without a header of their own that follow belong to it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "stepslack/base/json.h"
#include "stepslack/base/result.h"
#include "stepslack/trace/import_stats.h"

namespace stepslack::trace {

struct InspectorRecord {
  std::string communicator;  // "0x7f8c496ae9f661"
  int32_t rank = -1;         // within the communicator; -1: not said
  std::string operation;     // "all_reduce", "send"
  int64_t sequence = -1;     // of the operation within the communicator
  int64_t message_bytes = 0;
  int64_t duration_ns = 0;        // from whole or decimal microseconds
  double algorithm_gb_per_s = 0;  // 1e9 bytes per second
  double bus_gb_per_s = 0;        // likewise, scaled as nccl-tests do
  std::string timing_source;      // "kernel_gpu" is the best; "" in old versions
  std::string algorithm;          // "Ring"; "" when not said
  std::string protocol;           // "LL128"; "" when not said
  int32_t peer = -1;              // of a send or receive
  bool graph_captured = false;    // v5.0
  int64_t dumped_ns = 0;          // when the line was written, since 1970
};

struct InspectorCommunicator {
  int64_t ranks = 0;  // 0: not said
  int64_t nodes = 0;
  std::map<int32_t, std::string> hosts;  // rank to "host:pid"
};

struct InspectorLog {
  std::string version;                   // "v4.0"
  std::vector<InspectorRecord> records;  // in order of the file
  std::map<std::string, InspectorCommunicator, std::less<>> communicators;
  ImportStats stats;  // bad lines, operations without a size or a time
};

// JSON objects with a "coll_perf" or "p2p_perf", or with the metadata of the plugin,
// and without `traceEvents`.
bool LooksLikeNcclInspector(std::string_view head);

// Errors: TRACE-0110 (no object of the plugin is in the text).
base::Result<InspectorLog> ParseNcclInspector(std::string_view text,
                                              std::string_view name);

base::Json ToJson(const InspectorLog& log);

}  // namespace stepslack::trace

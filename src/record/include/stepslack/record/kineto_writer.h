// Writes a rank's trace in the JSON dialect of PyTorch's Kineto, so that Perfetto and
// Holistic Trace Analysis open it: "X" events, ts and dur in microseconds with three
// decimals, `baseTimeNanoseconds`, `distributedInfo`, steps as "ProfilerStep#N".
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "stepslack/base/json.h"
#include "stepslack/base/result.h"

namespace stepslack::record {

struct TraceEvent {
  std::string name;  // "gloo:all_reduce", "forward", "ProfilerStep#12", "aten::conv2d"
  std::string category;  // "user_annotation", "cpu_op"
  int64_t start_ns = 0;  // monotonic clock
  int64_t duration_ns = 0;
  int64_t thread = 0;  // 1: training thread, 2: communication thread
  base::Json::Object args;
};

struct TraceHeader {
  int rank = 0;
  int world_size = 1;
  std::string backend;       // "gloo"
  int64_t base_time_ns = 0;  // subtracted from every event
};

// Collective events carry args "Collective name", "In msg nelems", "dtype", "Group
// size", "Seq" and "Process Group Name" as PyTorch does. Written gzip-compressed and
// atomically.
base::Status WriteKinetoTrace(const std::string& path, const TraceHeader& header,
                              const std::vector<TraceEvent>& events);

}  // namespace stepslack::record

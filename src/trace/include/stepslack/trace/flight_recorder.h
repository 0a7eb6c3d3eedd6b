// Reads dumps of PyTorch's Flight Recorder: the last collectives that one rank put into
// its communicators, with their state. One file per rank, as a pickle (the default;
// plain data only, see `pickle.h` of this module) or as JSON, plain or gzip-compressed.
//
// The format: torch/csrc/distributed/c10d/FlightRecorder.hpp of PyTorch, versions 2.0
// to 2.10 of the dump. Times are ns since 1970; an absent time has no value. What is
// absent in old versions keeps the default of the struct.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stepslack/base/json.h"
#include "stepslack/base/result.h"
#include "stepslack/trace/import_stats.h"

namespace stepslack::trace {

struct FlightGroup {
  std::string name;  // "72"; the same on every member
  std::string description;
  std::vector<int32_t> ranks;  // global, ascending; empty: the dump does not say
};

// Sequence numbers of the last operation of a group; -1: none yet, or not recorded.
// `last_completed` lags for coalesced operations. In a group with point-to-point
// operations these count whichever kind came last.
struct FlightStatus {
  int64_t last_enqueued = -1;
  int64_t last_started = -1;
  int64_t last_completed = -1;
};

// "scheduled" covers everything not known to run: without TORCH_NCCL_ENABLE_TIMING
// nothing is ever "started".
enum class FlightState { kScheduled, kStarted, kCompleted, kUnknown };
std::string_view ToString(FlightState state);

struct FlightFrame {
  std::string function;
  std::string file;
  int64_t line = 0;
};

struct FlightEntry {
  int64_t record_id = 0;
  int64_t pg_id = -1;      // number on this rank only, key of `FlightDump::status`
  std::string group_name;  // key of `FlightDump::groups`
  std::string group_description;
  int64_t collective_seq_id = -1;  // collectives of the group so far, this one included
  int64_t p2p_seq_id = -1;         // point-to-point operations likewise
  int64_t op_id = -1;
  std::string operation;  // "all_reduce", "send 0->1" (ranks within the group)
  std::vector<std::vector<int64_t>> input_sizes;  // elements, one shape per tensor
  std::vector<std::vector<int64_t>> output_sizes;
  std::vector<std::string> input_dtypes;
  std::vector<std::string> output_dtypes;
  FlightState state = FlightState::kUnknown;
  int64_t time_created_ns = 0;
  std::optional<int64_t> started_ns;    // when it was noticed, not when it happened
  std::optional<int64_t> completed_ns;  // likewise
  int64_t timeout_ms = 0;
  bool is_p2p = false;
  bool retired = false;             // the watchdog no longer looks at it
  std::vector<FlightFrame> frames;  // the innermost 8, innermost first
};

struct FlightDump {
  std::string name;                  // of the file
  std::string version;               // of the dump format
  std::string comm_library_version;  // "2.27.3"
  int32_t rank = -1;                 // -1: not known
  std::map<std::string, FlightGroup, std::less<>> groups;
  std::map<int64_t, FlightStatus> status;  // by pg_id; only groups that were used
  std::vector<FlightEntry> entries;        // by record_id
  bool truncated = false;                  // JSON text that ended inside
  ImportStats stats;
};

struct FlightOptions {
  int32_t rank = -1;  // used before any other source of the rank; -1: none
};

// From content: a pickle of protocol 2 to 5 that names the recorder's keys, or JSON
// with its keys and without `traceEvents`. `head` are the first bytes, 4 KiB or more.
bool LooksLikeFlightRecorder(std::string_view head);

// The rank is that of the options, else the `rank` member of the root, else the only
// one that all groups of pg_config have, else what `RankOfDumpName(name)` finds.
// Errors: TRACE-0100 to TRACE-0102 (the pickle), TRACE-0103 (not a dump).
base::Result<FlightDump> ParseFlightRecorder(std::string_view text,
                                             std::string_view name,
                                             const FlightOptions& options = {});
// Also BASE-0001 and BASE-0003.
base::Result<FlightDump> ReadFlightRecorder(const std::string& path,
                                            const FlightOptions& options = {});

struct FlightFolder {
  std::vector<FlightDump> dumps;     // by rank
  std::vector<std::string> skipped;  // names of files that are no dumps
};

// Every dump of a folder. A file that is no dump is named in `skipped`, one that looks
// like a dump and cannot be read is an error. TRACE-0104: no dumps at all.
base::Result<FlightFolder> ReadFlightRecorderFolder(const std::string& path);

// RankOfFileName(), else the number at the end ("trace_3.pkl.gz"); -1: no number.
int32_t RankOfDumpName(std::string_view name);

base::Json ToJson(const FlightDump& dump);

}  // namespace stepslack::trace

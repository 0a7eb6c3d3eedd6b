// From what a user names (files, folders, patterns, archives) to single inputs, each
// recognised by its content. A name never decides a format.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stepslack/base/result.h"
#include "stepslack/trace/byte_source.h"

namespace stepslack::trace {

enum class InputFormat {
  kEmpty,
  kKineto,           // Kineto or Chrome JSON
  kFlightRecorder,   // PyTorch flight recorder, pickle or JSON
  kNcclInspector,    // NCCL inspector JSONL
  kCollectiveBench,  // output of nccl-tests, rccl-tests and their like
  kNcclDebug,        // NCCL_DEBUG text
  kOpTrace,          // operations of pipeline stages, CSV
  kOpJob,            // the sizes of the job of an op trace, YAML
  kMlLog,            // MLPerf :::MLLOG lines
  kXplane,           // XLA profile
  kNsys,             // Nsight Systems, SQLite
  kHostLog,          // nvidia-smi, kernel log, ibstat, /proc snapshots
  kMetricLog,        // loss, throughput, ... of a run, in any form (module logs)
  kUnknown
};
std::string_view ToString(InputFormat format);  // "kineto", "flight_recorder", ...

// `head`: the first bytes (up to kHeadBytes) of the inflated content.
constexpr size_t kHeadBytes = size_t{64} << 10;
InputFormat DetectFormat(std::string_view head);

// Regular files below the paths, sorted, without duplicates. A path may be a file, a
// folder (searched with its sub-folders; names that begin with a dot are left out) or a
// pattern with * ? [ ]. Errors: TRACE-0005 (nothing there), TRACE-0006 (no file in it).
struct FoundFiles {
  std::vector<std::string> files;
  std::vector<std::string> unreadable;  // folders that could not be searched, sorted
};
base::Result<FoundFiles> ExpandPaths(std::span<const std::string> paths);

// One input: a file, or a member of a tar archive ("traces.tar.gz!rank0.json").
struct Input {
  std::string path;  // of the file
  std::string name;  // to show; the path, with the member
  bool is_member = false;
  InputFormat format = InputFormat::kUnknown;
  std::string_view head;
};

// Calls visit(input, source) for the file, or for every regular member when it is a tar
// archive, also a compressed one. What `visit` does not read of a member is skipped.
// Returns false when an archive ends inside a member. Errors: TRACE-0003.
base::Result<bool> VisitInputs(
    const std::string& path,
    const std::function<void(const Input& input, ByteSource& source)>& visit);

// The rest of a source as one text. Errors: TRACE-0002 (more than `max_bytes`).
base::Result<std::string> ReadAll(ByteSource& source, const std::string& name,
                                  int64_t max_bytes);

// Rank in a file name: "rank-34", "rank_3", "worker5_step", "_dump_2", "r2.json"; -1:
// none.
int32_t RankOfFileName(std::string_view name);

}  // namespace stepslack::trace

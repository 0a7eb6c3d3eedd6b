#include <array>

#include "stepslack/base/text.h"
#include "stepslack/trace/collective_bench.h"
#include "stepslack/trace/flight_recorder.h"
#include "stepslack/trace/host_log.h"
#include "stepslack/trace/input_files.h"
#include "stepslack/trace/mllog.h"
#include "stepslack/trace/nccl_debug.h"
#include "stepslack/trace/nccl_inspector.h"
#include "stepslack/trace/nsys_reader.h"
#include "stepslack/trace/op_trace.h"
#include "stepslack/trace/xplane_reader.h"

namespace stepslack::trace {
namespace {

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool LooksLikeKineto(std::string_view head) {
  if (head.starts_with("\xEF\xBB\xBF")) head.remove_prefix(3);
  head = base::Trim(head);
  if (head.empty() || (head[0] != '{' && head[0] != '[')) return false;
  static constexpr std::array<std::string_view, 8> kKeys = {
      "\"traceEvents\"",     "\"ph\"",
      "\"schemaVersion\"",   "\"deviceProperties\"",
      "\"traceName\"",       "\"distributedInfo\"",
      "\"displayTimeUnit\"", "\"baseTimeNanoseconds\""};
  for (const std::string_view key : kKeys) {
    if (Contains(head, key)) return true;
  }
  return false;
}

bool LooksLikeOpJob(std::string_view head) {
  return Contains(head, "dp_size:") && Contains(head, "pp_size:") &&
         Contains(head, "world_size:");
}

}  // namespace

std::string_view ToString(InputFormat format) {
  switch (format) {
    case InputFormat::kEmpty:
      return "empty";
    case InputFormat::kKineto:
      return "kineto";
    case InputFormat::kFlightRecorder:
      return "flight_recorder";
    case InputFormat::kNcclInspector:
      return "nccl_inspector";
    case InputFormat::kCollectiveBench:
      return "collective_bench";
    case InputFormat::kNcclDebug:
      return "nccl_debug";
    case InputFormat::kOpTrace:
      return "op_trace";
    case InputFormat::kOpJob:
      return "op_job";
    case InputFormat::kMlLog:
      return "mllog";
    case InputFormat::kXplane:
      return "xplane";
    case InputFormat::kNsys:
      return "nsys";
    case InputFormat::kHostLog:
      return "host_log";
    case InputFormat::kMetricLog:
      return "metric_log";
    case InputFormat::kUnknown:
      return "unknown";
  }
  return "unknown";
}

InputFormat DetectFormat(std::string_view head) {
  if (base::Trim(head).empty()) return InputFormat::kEmpty;
  // What is told by keys of its own goes first; free text, whose marks may stand
  // anywhere, last.
  if (LooksLikeSqlite(head)) return InputFormat::kNsys;
  if (LooksLikeXplane(head)) return InputFormat::kXplane;
  if (LooksLikeFlightRecorder(head)) return InputFormat::kFlightRecorder;
  if (LooksLikeNcclInspector(head)) return InputFormat::kNcclInspector;
  if (LooksLikeKineto(head)) return InputFormat::kKineto;
  if (LooksLikeOpTrace(head)) return InputFormat::kOpTrace;
  if (LooksLikeOpJob(head)) return InputFormat::kOpJob;
  if (LooksLikeMllog(head)) return InputFormat::kMlLog;
  if (LooksLikeCollectiveBench(head)) return InputFormat::kCollectiveBench;
  if (LooksLikeNcclDebug(head)) return InputFormat::kNcclDebug;
  if (DetectHostLog(head) != HostLogKind::kUnknown) return InputFormat::kHostLog;
  return InputFormat::kUnknown;
}

}  // namespace stepslack::trace

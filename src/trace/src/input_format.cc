#include <array>

#include "stepslack/base/text.h"
#include "stepslack/trace/input_files.h"

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
    case InputFormat::kMlLog:
      return "mllog";
    case InputFormat::kXplane:
      return "xplane";
    case InputFormat::kNsys:
      return "nsys";
    case InputFormat::kHostLog:
      return "host_log";
    case InputFormat::kUnknown:
      return "unknown";
  }
  return "unknown";
}

InputFormat DetectFormat(std::string_view head) {
  if (base::Trim(head).empty()) return InputFormat::kEmpty;
  if (LooksLikeKineto(head)) return InputFormat::kKineto;
  return InputFormat::kUnknown;
}

}  // namespace stepslack::trace

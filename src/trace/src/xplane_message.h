// The messages of xplane.proto that are read, as views into the file. Field numbers are
// those of tsl/profiler/protobuf/xplane.proto.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "stepslack/trace/protobuf_wire.h"

namespace stepslack::trace {

struct XLine {
  int64_t id = 0;
  std::string_view name;  // the name, or the display name when there is none
  int64_t timestamp_ns = 0;
  WireField field;
  size_t event_count = 0;
};

// Numbers of the statistics that are of use; 0 is not used by the format.
struct StatIds {
  int64_t correlation = 0;
  int64_t step_num = 0;
  int64_t step_name = 0;
  int64_t hlo_op = 0;
  int64_t profile_start = 0;
};

struct XPlane {
  std::string_view name;
  size_t offset = 0;
  std::vector<WireField> lines;
  std::vector<WireField> stats;
  std::unordered_map<int64_t, std::string_view> event_names;
  std::unordered_map<int64_t, std::string_view> stat_names;  // also texts by reference
  StatIds ids;
  size_t malformed = 0;
  size_t malformed_at = 0;  // first one
};

struct XEvent {
  int64_t metadata_id = 0;
  int64_t offset_ps = 0;
  int64_t duration_ps = 0;
  bool aggregated = false;  // a number of occurrences instead of a time
  int64_t correlation = 0;
  std::optional<int64_t> step_num;   // of a step annotation on the host
  std::optional<int64_t> step_name;  // of a "Steps" line on a device
  std::string_view hlo_op;
};

XPlane ReadXPlane(const WireField& field);
// The events are counted here and read by ForEachEvent, so that a line costs no memory.
// `good` is false when the message can not be read to its end.
XLine ReadXLine(const WireField& field, bool& good);
template <typename Visit>  // void(const WireField& event)
void ForEachEvent(const XLine& line, const Visit& visit) {
  WireReader reader(line.field);
  WireField part;
  while (reader.Next(part)) {
    if (part.number == 4 && part.type == WireField::Type::kBytes) visit(part);
  }
}
bool ReadXEvent(const WireField& field, const XPlane& plane, XEvent& event);
// Of a plane's own statistics; no value when it is absent or not a number.
std::optional<int64_t> PlaneStat(const XPlane& plane, int64_t id);

}  // namespace stepslack::trace

#include "xplane_message.h"

#include "stepslack/base/text.h"

namespace stepslack::trace {
namespace {

using Type = WireField::Type;

struct XStat {
  int64_t id = 0;
  std::optional<int64_t> number;
  std::string_view text;
};

XStat ReadStat(const WireField& field, const XPlane& plane) {
  XStat stat;
  WireReader reader(field);
  WireField part;
  while (reader.Next(part)) {
    if (part.number == 1 && part.type == Type::kVarint) stat.id = part.AsInt64();
    if ((part.number == 3 || part.number == 4) && part.type == Type::kVarint) {
      stat.number = part.AsInt64();
    }
    if (part.number == 5 && part.type == Type::kBytes) stat.text = part.bytes;
    if (part.number == 7 && part.type == Type::kVarint) {
      const auto found = plane.stat_names.find(part.AsInt64());
      if (found != plane.stat_names.end()) stat.text = found->second;
    }
  }
  if (!stat.number && !stat.text.empty()) {
    stat.number = base::ParseInt(base::Trim(stat.text));
  }
  return stat;
}

// An entry of a map<int64, Metadata>: key 1, value 2. The metadata's display name (4,
// of events) is the short form that people read.
void ReadNamed(const WireField& field, XPlane& plane, bool events) {
  int64_t key = 0;
  WireField value;
  WireReader reader(field);
  WireField part;
  while (reader.Next(part)) {
    if (part.number == 1 && part.type == Type::kVarint) key = part.AsInt64();
    if (part.number == 2 && part.type == Type::kBytes) value = part;
  }
  std::string_view name;
  std::string_view display_name;
  WireReader metadata(value);
  while (metadata.Next(part)) {
    if (part.type != Type::kBytes) continue;
    if (part.number == 2) name = part.bytes;
    if (part.number == 4 && events) display_name = part.bytes;
  }
  auto& names = events ? plane.event_names : plane.stat_names;
  names[key] = display_name.empty() ? name : display_name;
  if (reader.malformed() || metadata.malformed()) {
    if (plane.malformed++ == 0) plane.malformed_at = field.offset;
  }
}

StatIds FindIds(const XPlane& plane) {
  StatIds ids;
  for (const auto& [id, name] : plane.stat_names) {
    if (name == "correlation_id") ids.correlation = id;
    if (name == "step_num") ids.step_num = id;
    if (name == "step_name") ids.step_name = id;
    if (name == "hlo_op") ids.hlo_op = id;
    if (name == "profile_start_time") ids.profile_start = id;
  }
  return ids;
}

}  // namespace

XPlane ReadXPlane(const WireField& field) {
  XPlane plane;
  plane.offset = field.offset;
  WireReader reader(field);
  WireField part;
  while (reader.Next(part)) {
    if (part.type != Type::kBytes) continue;
    if (part.number == 2) plane.name = part.bytes;
    if (part.number == 3) plane.lines.push_back(part);
    if (part.number == 4) ReadNamed(part, plane, true);
    if (part.number == 5) ReadNamed(part, plane, false);
    if (part.number == 6) plane.stats.push_back(part);
  }
  if (reader.malformed() && plane.malformed++ == 0) {
    plane.malformed_at = reader.position();
  }
  plane.ids = FindIds(plane);
  return plane;
}

XLine ReadXLine(const WireField& field, bool& good) {
  XLine line;
  line.field = field;
  std::string_view display_name;
  WireReader reader(field);
  WireField part;
  while (reader.Next(part)) {
    if (part.type == Type::kVarint) {
      if (part.number == 1) line.id = part.AsInt64();
      if (part.number == 3) line.timestamp_ns = part.AsInt64();
    } else if (part.type == Type::kBytes) {
      if (part.number == 2) line.name = part.bytes;
      if (part.number == 11) display_name = part.bytes;
      if (part.number == 4) ++line.event_count;
    }
  }
  if (line.name.empty()) line.name = display_name;
  good = !reader.malformed();
  return line;
}

bool ReadXEvent(const WireField& field, const XPlane& plane, XEvent& event) {
  event = XEvent{};
  const StatIds& ids = plane.ids;
  WireReader reader(field);
  WireField part;
  while (reader.Next(part)) {
    if (part.clipped) return false;
    if (part.type == Type::kVarint) {
      if (part.number == 1) event.metadata_id = part.AsInt64();
      if (part.number == 2) event.offset_ps = part.AsInt64();
      if (part.number == 3) event.duration_ps = part.AsInt64();
      if (part.number == 5) event.aggregated = true;
    } else if (part.number == 4 && part.type == Type::kBytes) {
      const XStat stat = ReadStat(part, plane);
      if (stat.id == 0) continue;
      if (stat.id == ids.correlation) event.correlation = stat.number.value_or(0);
      if (stat.id == ids.step_num) event.step_num = stat.number;
      if (stat.id == ids.step_name) event.step_name = stat.number;
      if (stat.id == ids.hlo_op) event.hlo_op = stat.text;
    }
  }
  return !reader.malformed();
}

std::optional<int64_t> PlaneStat(const XPlane& plane, int64_t id) {
  if (id == 0) return std::nullopt;
  for (const WireField& field : plane.stats) {
    const XStat stat = ReadStat(field, plane);
    if (stat.id == id) return stat.number;
  }
  return std::nullopt;
}

}  // namespace stepslack::trace

#include "stepslack/trace/flight_recorder.h"

namespace stepslack::trace {
namespace {

base::Json ShapesToJson(const std::vector<std::vector<int64_t>>& shapes) {
  base::Json::Array list;
  for (const std::vector<int64_t>& shape : shapes) {
    list.emplace_back(base::Json::Array(shape.begin(), shape.end()));
  }
  return base::Json(std::move(list));
}

base::Json TimeToJson(const std::optional<int64_t>& time_ns) {
  return time_ns ? base::Json(*time_ns) : base::Json();
}

base::Json EntryToJson(const FlightEntry& entry) {
  base::Json json;
  json.Set("record_id", entry.record_id);
  json.Set("pg_id", entry.pg_id);
  json.Set("group", entry.group_name);
  json.Set("group_description", entry.group_description);
  json.Set("collective_seq_id", entry.collective_seq_id);
  json.Set("p2p_seq_id", entry.p2p_seq_id);
  json.Set("op_id", entry.op_id);
  json.Set("operation", entry.operation);
  json.Set("input_sizes", ShapesToJson(entry.input_sizes));
  json.Set("output_sizes", ShapesToJson(entry.output_sizes));
  json.Set("input_dtypes",
           base::Json::Array(entry.input_dtypes.begin(), entry.input_dtypes.end()));
  json.Set("output_dtypes",
           base::Json::Array(entry.output_dtypes.begin(), entry.output_dtypes.end()));
  json.Set("state", ToString(entry.state));
  json.Set("time_created_ns", entry.time_created_ns);
  json.Set("started_ns", TimeToJson(entry.started_ns));
  json.Set("completed_ns", TimeToJson(entry.completed_ns));
  json.Set("timeout_ms", entry.timeout_ms);
  json.Set("is_p2p", entry.is_p2p);
  json.Set("retired", entry.retired);
  base::Json::Array frames;
  for (const FlightFrame& frame : entry.frames) {
    base::Json item;
    item.Set("function", frame.function);
    item.Set("file", frame.file);
    item.Set("line", frame.line);
    frames.push_back(std::move(item));
  }
  json.Set("frames", std::move(frames));
  return json;
}

}  // namespace

std::string_view ToString(FlightState state) {
  switch (state) {
    case FlightState::kScheduled:
      return "scheduled";
    case FlightState::kStarted:
      return "started";
    case FlightState::kCompleted:
      return "completed";
    case FlightState::kUnknown:
      break;
  }
  return "unknown";
}

base::Json ToJson(const FlightDump& dump) {
  base::Json json;
  json.Set("name", dump.name);
  json.Set("version", dump.version);
  json.Set("comm_library_version", dump.comm_library_version);
  json.Set("rank", dump.rank < 0 ? base::Json() : base::Json(dump.rank));
  json.Set("truncated", dump.truncated);
  base::Json::Array groups;
  for (const auto& [name, group] : dump.groups) {
    base::Json item;
    item.Set("name", group.name);
    item.Set("description", group.description);
    item.Set("ranks", base::Json::Array(group.ranks.begin(), group.ranks.end()));
    groups.push_back(std::move(item));
  }
  json.Set("groups", std::move(groups));
  base::Json::Array status;
  for (const auto& [pg_id, last] : dump.status) {
    base::Json item;
    item.Set("pg_id", pg_id);
    item.Set("last_enqueued", last.last_enqueued);
    item.Set("last_started", last.last_started);
    item.Set("last_completed", last.last_completed);
    status.push_back(std::move(item));
  }
  json.Set("status", std::move(status));
  base::Json::Array entries;
  for (const FlightEntry& entry : dump.entries) entries.push_back(EntryToJson(entry));
  json.Set("entries", std::move(entries));
  json.Set("import", ToJson(dump.stats));
  return json;
}

}  // namespace stepslack::trace

#include "stepslack/trace/nccl_inspector.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <optional>

#include "json_scanner.h"
#include "stepslack/base/text.h"
#include "stepslack/trace/exact_time.h"
#include "stepslack/trace/kineto_reader.h"

namespace stepslack::trace {
namespace {

// One object of the file, before it is known whether it is usable.
struct RawObject {
  InspectorRecord record;
  int64_t ranks = 0;
  int64_t nodes = 0;
  std::string host;
  std::string process;
  std::string version;
  bool has_header = false;
  bool has_operation = false;
  bool has_bytes = false;
  bool has_time = false;
};

int64_t IntOr(std::string_view text, int64_t fallback) {
  return base::ParseInt(base::Trim(text)).value_or(fallback);
}

int32_t RankOr(std::string_view text, int32_t fallback) {
  const int64_t value = IntOr(text, fallback);
  return value >= 0 && value <= 100'000'000 ? static_cast<int32_t>(value) : fallback;
}

double RateOf(std::string_view text) {
  const std::optional<double> value = base::ParseDouble(base::Trim(text));
  return value && std::isfinite(*value) && *value >= 0 ? *value : 0;
}

void SetHeader(std::string_view key, const JsonToken& value, RawObject& object) {
  if (key == "id") {
    object.record.communicator = DecodeJsonText(value.text);
    object.has_header = true;
  } else if (key == "rank") {
    object.record.rank = RankOr(value.text, -1);
    object.has_header = true;
  } else if (key == "n_ranks") {
    object.ranks = IntOr(value.text, 0);
  } else if (key == "nnodes") {
    object.nodes = IntOr(value.text, 0);
  } else if (key == "hostname") {
    object.host = DecodeJsonText(value.text);
  } else if (key == "pid") {
    object.process = DecodeJsonText(value.text);
  } else if (key == "inspector_output_format_version") {
    object.version = DecodeJsonText(value.text);
  } else if (key == "dump_timestamp_us") {
    object.record.dumped_ns = MicrosecondsToNs(base::Trim(value.text)).value_or(0);
  }
}

// Keys are those of collectives ("coll_sn") and of sends and receives ("p2p_sn").
void SetOperation(std::string_view key, const JsonToken& value, RawObject& object) {
  InspectorRecord& record = object.record;
  if (key == "coll" || key == "p2p") {
    record.operation = CanonicalCollectiveName(DecodeJsonText(value.text));
    object.has_operation = !record.operation.empty();
    return;
  }
  if (key == "graphCaptured") record.graph_captured = value.text == "true";
  const size_t underscore = key.find('_');
  if (underscore == std::string_view::npos) return;
  const std::string_view what = key.substr(underscore + 1);
  if (what == "sn") {
    record.sequence = IntOr(value.text, -1);
  } else if (what == "msg_size_bytes") {
    const int64_t bytes = IntOr(value.text, -1);
    object.has_bytes = bytes >= 0;
    record.message_bytes = std::max<int64_t>(bytes, 0);
  } else if (what == "exec_time_us") {
    const std::optional<int64_t> time = MicrosecondsToNs(base::Trim(value.text));
    object.has_time = time && *time >= 0;
    record.duration_ns = object.has_time ? *time : 0;
  } else if (what == "timing_source") {
    record.timing_source = DecodeJsonText(value.text);
  } else if (what == "algobw_gbs") {
    record.algorithm_gb_per_s = RateOf(value.text);
  } else if (what == "busbw_gbs") {
    record.bus_gb_per_s = RateOf(value.text);
  } else if (what == "algo") {
    record.algorithm = DecodeJsonText(value.text);
  } else if (what == "proto") {
    record.protocol = DecodeJsonText(value.text);
  } else if (what == "peer") {
    record.peer = RankOr(value.text, -1);
  }
}

using Setter = void (*)(std::string_view, const JsonToken&, RawObject&);

// Scalar members go to `set`, nested values are skipped. False: malformed.
bool ReadMembers(JsonScanner& scanner, Setter set, RawObject& object) {
  if (!scanner.Take('{')) return scanner.SkipValue();
  if (scanner.Take('}')) return true;
  std::string_view key;
  do {
    if (!scanner.ReadString(key) || !scanner.Take(':')) return false;
    const char first = scanner.Peek();
    if (first == '{' || first == '[') {
      if (!scanner.SkipValue()) return false;
      continue;
    }
    JsonToken value;
    if (!scanner.ReadScalar(value)) return false;
    set(key, value, object);
  } while (scanner.Take(','));
  return scanner.Take('}');
}

bool ReadObject(JsonScanner& scanner, RawObject& object) {
  if (!scanner.Take('{')) return false;
  if (scanner.Take('}')) return true;
  std::string_view key;
  do {
    if (!scanner.ReadString(key) || !scanner.Take(':')) return false;
    const char first = scanner.Peek();
    if (key == "header" || key == "metadata") {
      if (!ReadMembers(scanner, SetHeader, object)) return false;
    } else if (key == "coll_perf" || key == "p2p_perf") {
      if (!ReadMembers(scanner, SetOperation, object)) return false;
    } else if (first == '{' || first == '[') {
      if (!scanner.SkipValue()) return false;
    } else {
      JsonToken value;
      if (!scanner.ReadScalar(value)) return false;
      SetHeader(key, value, object);
    }
  } while (scanner.Take(','));
  return scanner.Take('}');
}

// Newer versions write the header once and then bare operations that belong to it.
void InheritHeader(const RawObject& enclosing, RawObject& object) {
  object.record.communicator = enclosing.record.communicator;
  object.record.rank = enclosing.record.rank;
  object.record.dumped_ns = enclosing.record.dumped_ns;
  object.ranks = enclosing.ranks;
  object.nodes = enclosing.nodes;
  object.host = enclosing.host;
  object.process = enclosing.process;
  object.has_header = true;
}

void AddObject(RawObject&& object, int64_t offset, InspectorLog& log) {
  if (!object.has_header && !object.has_operation) {
    log.stats.Add("object of another kind", Severity::kInfo, offset);
    return;
  }
  if (log.version.empty()) log.version = object.version;
  InspectorCommunicator& communicator = log.communicators[object.record.communicator];
  communicator.ranks = std::max(communicator.ranks, object.ranks);
  communicator.nodes = std::max(communicator.nodes, object.nodes);
  if (object.record.rank >= 0 && !object.host.empty()) {
    communicator.hosts.try_emplace(object.record.rank,
                                   fmt::format("{}:{}", object.host, object.process));
  }
  if (!object.has_operation) return;
  if (!object.has_bytes) {
    log.stats.Add("operation without a message size", Severity::kWarning, offset);
  }
  if (!object.has_time) {
    log.stats.Add("operation without a time, not used", Severity::kError, offset);
    return;
  }
  log.records.push_back(std::move(object.record));
}

}  // namespace

bool LooksLikeNcclInspector(std::string_view head) {
  const auto has = [head](std::string_view part) {
    return head.find(part) != std::string_view::npos;
  };
  const std::string_view start = base::Trim(head);
  if (!start.starts_with('{') || has("\"traceEvents\"")) return false;
  return has("\"coll_perf\"") || has("\"p2p_perf\"") ||
         has("\"inspector_output_format_version\"");
}

base::Result<InspectorLog> ParseNcclInspector(std::string_view text,
                                              std::string_view name) {
  InspectorLog log;
  RawObject enclosing;
  JsonScanner scanner(text, text.starts_with("\xEF\xBB\xBF") ? 3 : 0);
  while (true) {
    scanner.SkipSpace();
    if (scanner.AtEnd()) break;
    const size_t from = scanner.position();
    RawObject object;
    if (ReadObject(scanner, object)) {
      if (object.has_operation && !object.has_header && enclosing.has_header) {
        InheritHeader(enclosing, object);
      } else if (object.has_header && !object.has_operation) {
        enclosing = object;
      }
      AddObject(std::move(object), static_cast<int64_t>(from), log);
      continue;
    }
    log.stats.Add("malformed line", Severity::kError, static_cast<int64_t>(from));
    // The next line begins a new object, also when this one was cut by a killed
    // process.
    const size_t line_end = text.find('\n', from);
    if (line_end == std::string_view::npos) break;
    scanner.MoveTo(line_end + 1);
  }
  if (log.communicators.empty()) {
    return base::Fail("TRACE-0110", base::ExitCode::kInput,
                      "no record of the NCCL Inspector was found", std::string(name),
                      "give the files that NCCL_INSPECTOR_DUMP_DIR names, with "
                      "NCCL_INSPECTOR_ENABLE=1 set for the run");
  }
  return log;
}

base::Json ToJson(const InspectorLog& log) {
  base::Json json;
  json.Set("version", log.version);
  base::Json::Array records;
  for (const InspectorRecord& record : log.records) {
    base::Json item;
    item.Set("communicator", record.communicator);
    item.Set("rank", record.rank < 0 ? base::Json() : base::Json(record.rank));
    item.Set("operation", record.operation);
    item.Set("sequence", record.sequence);
    item.Set("message_bytes", record.message_bytes);
    item.Set("duration_ns", record.duration_ns);
    item.Set("algorithm_gb_per_s", record.algorithm_gb_per_s);
    item.Set("bus_gb_per_s", record.bus_gb_per_s);
    item.Set("timing_source", record.timing_source);
    item.Set("algorithm", record.algorithm);
    item.Set("protocol", record.protocol);
    item.Set("peer", record.peer < 0 ? base::Json() : base::Json(record.peer));
    item.Set("graph_captured", record.graph_captured);
    item.Set("dumped_ns", record.dumped_ns);
    records.push_back(std::move(item));
  }
  json.Set("records", std::move(records));
  base::Json::Array communicators;
  for (const auto& [id, communicator] : log.communicators) {
    base::Json item;
    item.Set("id", id);
    item.Set("ranks", communicator.ranks);
    item.Set("nodes", communicator.nodes);
    base::Json hosts(base::Json::Object{});
    for (const auto& [rank, host] : communicator.hosts) {
      hosts.Set(std::to_string(rank), host);
    }
    item.Set("hosts", std::move(hosts));
    communicators.push_back(std::move(item));
  }
  json.Set("communicators", std::move(communicators));
  json.Set("import", ToJson(log.stats));
  return json;
}

}  // namespace stepslack::trace

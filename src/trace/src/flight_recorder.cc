#include "stepslack/trace/flight_recorder.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>

#include "json_scanner.h"
#include "pickle.h"
#include "stepslack/base/file.h"
#include "stepslack/base/text.h"
#include "stepslack/trace/input_files.h"

namespace stepslack::trace {
namespace {

constexpr size_t kKeptFrames = 8;
constexpr size_t kMostRanks = 1'000'000;  // of one group
constexpr int64_t kLargestRank = 100'000'000;

// The JSON form writes many numbers as text.
std::optional<int64_t> IntOf(const base::Json& value) {
  if (value.is_int()) return value.AsInt();
  if (value.is_string()) return base::ParseInt(base::Trim(value.AsString()));
  return std::nullopt;
}

int64_t IntOr(const base::Json& value, int64_t fallback) {
  return IntOf(value).value_or(fallback);
}

// Far below the largest integer, so that one more is a number too.
int64_t SequenceOf(const base::Json& value) {
  const int64_t sequence = IntOr(value, -1);
  return sequence >= 0 && sequence < (int64_t{1} << 60) ? sequence : -1;
}

bool BoolOf(const base::Json& value) {
  return value.is_string() ? value.AsString() == "true" : value.AsBool();
}

// "[0, 1, 2]" as text, or an array of numbers.
std::vector<int32_t> RanksOf(const base::Json& value) {
  std::vector<int32_t> ranks;
  const auto add = [&ranks](std::optional<int64_t> rank) {
    if (rank && *rank >= 0 && *rank <= kLargestRank && ranks.size() < kMostRanks) {
      ranks.push_back(static_cast<int32_t>(*rank));
    }
  };
  if (value.is_array()) {
    for (const base::Json& item : value.AsArray()) add(IntOf(item));
  } else {
    std::string_view text = base::Trim(value.AsString());
    if (text.starts_with('[')) text.remove_prefix(1);
    if (text.ends_with(']')) text.remove_suffix(1);
    for (const std::string_view part : base::Split(text, ',')) {
      add(base::ParseInt(base::Trim(part)));
    }
  }
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

void ReadGroups(const base::Json& config, FlightDump& dump) {
  for (const auto& [key, value] : config.AsObject()) {
    FlightGroup group;
    group.name = value["name"].is_string() ? value["name"].AsString() : key;
    group.description = value["desc"].AsString();
    group.ranks = RanksOf(value["ranks"]);
    dump.groups.insert_or_assign(group.name, std::move(group));
  }
}

// A process configures only groups that it is a member of, so the one rank that all of
// them have is its own; -1 when they have several or none.
int32_t OnlyCommonRank(const FlightDump& dump) {
  std::vector<int32_t> common;
  bool first = true;
  for (const auto& [name, group] : dump.groups) {
    if (group.ranks.empty()) continue;
    std::vector<int32_t> both;
    std::set_intersection(common.begin(), common.end(), group.ranks.begin(),
                          group.ranks.end(), std::back_inserter(both));
    if (first) both = group.ranks;
    common = std::move(both);
    first = false;
  }
  return common.size() == 1 ? common.front() : -1;
}

void ReadStatus(const base::Json& status, FlightDump& dump) {
  for (const auto& [key, value] : status.AsObject()) {
    const std::optional<int64_t> pg_id = base::ParseInt(key);
    if (!pg_id) {
      dump.stats.Add("status of a group without a number", Severity::kWarning, 0);
      continue;
    }
    dump.status[*pg_id] = {
        .last_enqueued = SequenceOf(value["last_enqueued_collective"]),
        .last_started = SequenceOf(value["last_started_collective"]),
        .last_completed = SequenceOf(value["last_completed_collective"])};
  }
}

std::vector<std::vector<int64_t>> SizesOf(const base::Json& value) {
  std::vector<std::vector<int64_t>> shapes;
  for (const base::Json& tensor : value.AsArray()) {
    std::vector<int64_t> shape;
    for (const base::Json& dimension : tensor.AsArray()) {
      shape.push_back(IntOr(dimension, -1));
    }
    shapes.push_back(std::move(shape));
  }
  return shapes;
}

std::vector<std::string> TextsOf(const base::Json& value) {
  std::vector<std::string> texts;
  for (const base::Json& item : value.AsArray()) texts.push_back(item.AsString());
  return texts;
}

FlightState StateOf(std::string_view text) {
  if (text == "scheduled") return FlightState::kScheduled;
  if (text == "started") return FlightState::kStarted;
  if (text == "completed") return FlightState::kCompleted;
  return FlightState::kUnknown;
}

std::vector<FlightFrame> FramesOf(const base::Json& value) {
  std::vector<FlightFrame> frames;
  for (const base::Json& frame : value.AsArray()) {
    if (frames.size() == kKeptFrames) break;
    frames.push_back({.function = frame["name"].AsString(),
                      .file = frame["filename"].AsString(),
                      .line = IntOr(frame["line"], 0)});
  }
  return frames;
}

// "nccl:all_reduce" is "all_reduce" also where another library ran it.
std::string OperationOf(const std::string& profiling_name) {
  const size_t colon = profiling_name.find(':');
  return colon == std::string::npos ? profiling_name : profiling_name.substr(colon + 1);
}

std::optional<FlightEntry> EntryOf(const base::Json& value) {
  FlightEntry entry;
  entry.operation = OperationOf(value["profiling_name"].AsString());
  const base::Json::Array& group = value["process_group"].AsArray();
  if (!group.empty()) entry.group_name = group[0].AsString();
  if (group.size() > 1) entry.group_description = group[1].AsString();
  // "seq_id" until version 2.1.
  const base::Json& seq =
      value.Has("collective_seq_id") ? value["collective_seq_id"] : value["seq_id"];
  entry.collective_seq_id = SequenceOf(seq);
  entry.p2p_seq_id = SequenceOf(value["p2p_seq_id"]);
  if (entry.operation.empty() ||
      (entry.collective_seq_id < 0 && entry.p2p_seq_id < 0)) {
    return std::nullopt;
  }
  entry.pg_id = IntOr(value["pg_id"], -1);
  if (entry.group_name.empty()) entry.group_name = std::to_string(entry.pg_id);
  entry.record_id = IntOr(value["record_id"], 0);
  entry.op_id = IntOr(value["op_id"], -1);
  entry.input_sizes = SizesOf(value["input_sizes"]);
  entry.output_sizes = SizesOf(value["output_sizes"]);
  entry.input_dtypes = TextsOf(value["input_dtypes"]);
  entry.output_dtypes = TextsOf(value["output_dtypes"]);
  entry.state = StateOf(value["state"].AsString());
  entry.time_created_ns = IntOr(value["time_created_ns"], 0);
  entry.started_ns = IntOf(value["time_discovered_started_ns"]);
  entry.completed_ns = IntOf(value["time_discovered_completed_ns"]);
  entry.timeout_ms = IntOr(value["timeout_ms"], 0);
  entry.is_p2p = BoolOf(value["is_p2p"]);
  entry.retired = BoolOf(value["retired"]);
  entry.frames = FramesOf(value["frames"]);
  return entry;
}

void AddEntry(const base::Json& value, int64_t offset, FlightDump& dump) {
  std::optional<FlightEntry> entry = EntryOf(value);
  if (entry) {
    dump.entries.push_back(*std::move(entry));
  } else {
    dump.stats.Add("entry without an operation or a sequence number", Severity::kError,
                   offset);
  }
}

// Returns the rank that the root itself names, or -1.
int32_t ReadRootMember(std::string_view key, const base::Json& value,
                       FlightDump& dump) {
  if (key == "version") dump.version = value.AsString();
  if (key == "nccl_version" || key == "comm_lib_version") {
    dump.comm_library_version = value.AsString();
  }
  if (key == "pg_config") ReadGroups(value, dump);
  if (key == "pg_status") ReadStatus(value, dump);
  if (key != "rank") return -1;
  const int64_t rank = IntOr(value, -1);
  return rank >= 0 && rank <= kLargestRank ? static_cast<int32_t>(rank) : -1;
}

// JSON is read entry by entry, so that a damaged entry or a cut end loses no more than
// itself. Returns whether the members of a dump were there.
class JsonDump {
 public:
  JsonDump(std::string_view text, FlightDump& dump)
      : text_(text), dump_(dump), scanner_(text) {}

  bool Read();
  int32_t rank() const { return rank_; }

 private:
  bool ReadMember(std::string_view key);
  bool ReadEntries();
  bool ReadValue(size_t from, base::Json& value);

  std::string_view text_;
  FlightDump& dump_;
  JsonScanner scanner_;
  int32_t rank_ = -1;
  bool saw_dump_ = false;
  bool saw_trace_ = false;
};

// False when the text ended inside the value.
bool JsonDump::ReadValue(size_t from, base::Json& value) {
  const bool whole = scanner_.SkipValue();
  if (whole) {
    auto parsed =
        base::ParseJson(text_.substr(from, scanner_.position() - from), "dump");
    if (parsed.has_value()) {
      value = *std::move(parsed);
      return true;
    }
  }
  dump_.stats.Add("malformed value", Severity::kError, static_cast<int64_t>(from));
  return whole;
}

bool JsonDump::ReadEntries() {
  scanner_.Take('[');
  while (!scanner_.Take(']')) {
    scanner_.SkipSpace();
    const size_t from = scanner_.position();
    if (scanner_.AtEnd()) return false;
    base::Json value;
    if (!ReadValue(from, value)) return false;
    if (!value.is_null()) AddEntry(value, static_cast<int64_t>(from), dump_);
    if (!scanner_.Take(',') && scanner_.Peek() != ']') return false;
  }
  return true;
}

bool JsonDump::ReadMember(std::string_view key) {
  if (key == "traceEvents") saw_trace_ = true;
  if (key == "entries" || key == "pg_config" || key == "pg_status") saw_dump_ = true;
  if (key == "entries" && scanner_.Peek() == '[') return ReadEntries();
  scanner_.SkipSpace();
  base::Json value;
  if (!ReadValue(scanner_.position(), value)) return false;
  rank_ = std::max(rank_, ReadRootMember(key, value, dump_));
  return true;
}

bool JsonDump::Read() {
  if (text_.starts_with("\xEF\xBB\xBF")) scanner_.MoveTo(3);
  if (!scanner_.Take('{')) return false;
  std::string_view key;
  while (!scanner_.Take('}')) {
    if (!scanner_.ReadString(key) || !scanner_.Take(':') || !ReadMember(key)) {
      dump_.truncated = true;
      break;
    }
    if (scanner_.Take(',')) continue;
    if (scanner_.Peek() != '}') {
      dump_.truncated = true;
      break;
    }
  }
  return saw_dump_ && !saw_trace_;
}

base::Result<bool> ReadPickledDump(std::string_view text, std::string_view name,
                                   FlightDump& dump, int32_t& rank) {
  SS_TRY(const Pickled pickled, ReadPickle(text, name,
                                           {.short_list_key = "frames",
                                            .short_list_items = kKeptFrames,
                                            .located_list_key = "entries"}));
  bool saw_dump = false;
  for (const auto& [key, value] : pickled.value.AsObject()) {
    rank = std::max(rank, ReadRootMember(key, value, dump));
    saw_dump |= key == "entries" || key == "pg_config" || key == "pg_status";
  }
  const base::Json::Array& entries = pickled.value["entries"].AsArray();
  for (size_t i = 0; i < entries.size(); ++i) {
    AddEntry(entries[i], i < pickled.located.size() ? pickled.located[i] : 0, dump);
  }
  return saw_dump;
}

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

bool LooksLikeFlightRecorder(std::string_view head) {
  if (LooksLikePickle(head)) {
    return Contains(head, "pg_config") || Contains(head, "pg_status") ||
           Contains(head, "profiling_name");
  }
  if (head.starts_with("\xEF\xBB\xBF")) head.remove_prefix(3);
  if (!base::Trim(head).starts_with('{')) return false;
  // Kineto traces have a pg_config too, inside distributedInfo and before the events.
  for (const std::string_view key :
       {"\"traceEvents\"", "\"distributedInfo\"", "\"schemaVersion\"",
        "\"deviceProperties\"", "\"baseTimeNanoseconds\""}) {
    if (Contains(head, key)) return false;
  }
  return Contains(head, "\"pg_config\"") || Contains(head, "\"pg_status\"") ||
         (Contains(head, "\"entries\"") && Contains(head, "\"profiling_name\""));
}

base::Result<FlightDump> ParseFlightRecorder(std::string_view text,
                                             std::string_view name,
                                             const FlightOptions& options) {
  FlightDump dump;
  dump.name = name;
  int32_t claimed = -1;
  bool is_dump = false;
  if (LooksLikePickle(text)) {
    SS_TRY(is_dump, ReadPickledDump(text, name, dump, claimed));
  } else {
    JsonDump reader(text, dump);
    is_dump = reader.Read();
    claimed = reader.rank();
  }
  if (!is_dump) {
    return base::Fail("TRACE-0103", base::ExitCode::kInput,
                      "this is not a Flight Recorder dump: it has none of entries, "
                      "pg_config and pg_status",
                      std::string(name),
                      "give the files that TORCH_NCCL_DEBUG_INFO_TEMP_FILE names, one "
                      "per rank");
  }
  dump.rank = options.rank;
  if (dump.rank < 0) dump.rank = claimed;
  const int32_t named = RankOfDumpName(name);
  if (dump.rank < 0) dump.rank = OnlyCommonRank(dump);
  if (dump.rank < 0) dump.rank = named;
  if (named >= 0 && named != dump.rank) {
    dump.stats.Add("rank in the file name differs from the one in the dump",
                   Severity::kWarning, 0);
  }
  std::stable_sort(dump.entries.begin(), dump.entries.end(),
                   [](const FlightEntry& a, const FlightEntry& b) {
                     return a.record_id < b.record_id;
                   });
  return dump;
}

base::Result<FlightDump> ReadFlightRecorder(const std::string& path,
                                            const FlightOptions& options) {
  SS_TRY(const std::string text, base::ReadMaybeGzip(path));
  return ParseFlightRecorder(text, path, options);
}

base::Result<FlightFolder> ReadFlightRecorderFolder(const std::string& path) {
  SS_TRY(const std::vector<std::string> names, base::ListFolder(path));
  FlightFolder folder;
  for (const std::string& name : names) {
    const std::string file = base::JoinPath(path, name);
    if (base::IsFolder(file)) {
      folder.skipped.push_back(name);
      continue;
    }
    SS_TRY(const std::string text, base::ReadMaybeGzip(file));
    if (!LooksLikeFlightRecorder(text)) {
      folder.skipped.push_back(name);
      continue;
    }
    SS_TRY(FlightDump dump, ParseFlightRecorder(text, file));
    folder.dumps.push_back(std::move(dump));
  }
  if (folder.dumps.empty()) {
    return base::Fail("TRACE-0104", base::ExitCode::kInput,
                      "no Flight Recorder dump is in this folder", path,
                      "name the folder with the dumps of one job, one file per rank");
  }
  std::stable_sort(
      folder.dumps.begin(), folder.dumps.end(),
      [](const FlightDump& a, const FlightDump& b) { return a.rank < b.rank; });
  return folder;
}

int32_t RankOfDumpName(std::string_view name) {
  if (const int32_t rank = RankOfFileName(name); rank >= 0) return rank;
  const std::string file = base::FileName(name);
  std::string_view stem = file;
  for (const std::string_view ending : {".gz", ".json", ".pkl", ".pickle", ".txt"}) {
    if (stem.ends_with(ending)) stem.remove_suffix(ending.size());
  }
  size_t from = stem.size();
  while (from > 0 && stem[from - 1] >= '0' && stem[from - 1] <= '9') --from;
  const std::optional<int64_t> rank = base::ParseInt(stem.substr(from));
  return rank && *rank <= kLargestRank ? static_cast<int32_t>(*rank) : -1;
}

}  // namespace stepslack::trace

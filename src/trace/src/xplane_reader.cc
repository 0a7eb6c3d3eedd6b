#include "stepslack/trace/xplane_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "stepslack/base/file.h"
#include "stepslack/base/text.h"
#include "stepslack/trace/event_names.h"
#include "stepslack/trace/exact_time.h"
#include "stepslack/trace/input_files.h"
#include "stepslack/trace/kineto_reader.h"
#include "xla_names.h"
#include "xplane_message.h"

namespace stepslack::trace {
namespace {

constexpr int64_t kLongestEventPs = int64_t{7} * 24 * 3600 * 1'000'000'000'000;
constexpr size_t kMostDevices = 256;  // a host has 16 at most

// The whole number of ns nearest to `ps`, halves upwards.
int64_t RoundPs(int64_t ps) {
  const int64_t shifted = ps + 500;
  return shifted / 1000 - (shifted % 1000 < 0 ? 1 : 0);
}

struct Span {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  XEvent event;
  size_t offset = 0;
};

class XplaneImport {
 public:
  XplaneImport(std::string_view bytes, std::string_view name,
               const XplaneOptions& options)
      : bytes_(bytes), name_(name), options_(options) {}
  base::Result<DeviceTraces> Run();

 private:
  using DevicePlanes = std::map<XlaDevice, std::vector<const XPlane*>>;

  void ReadSpace();
  void AddDevice(const XlaDevice& device, std::span<const XPlane* const> planes);
  void AddDeviceLine(const XPlane& plane, const XLine& line, bool ops);
  void AddDeviceEvent(const XPlane& plane, const XLine& line, const Span& span,
                      bool holds_others);
  void AddHostPlane(const XPlane& plane);
  void AddHostEvent(const XPlane& plane, const XLine& line, const Span& span);
  void AddSteps();
  void Finish();
  std::vector<XLine> Lines(const XPlane& plane);
  std::vector<Span> Spans(const XPlane& plane, const XLine& line);
  bool TimesOf(const XLine& line, Span& span);
  std::string EventName(const XPlane& plane, const XEvent& event, size_t offset);
  ImportStats& Stats() {
    return result_.traces.empty() ? result_.stats : result_.traces.back().store.stats;
  }
  bool AtCut(size_t end) const { return truncated_ && end >= bytes_.size(); }

  std::string_view bytes_;
  std::string_view name_;
  XplaneOptions options_;
  std::vector<XPlane> planes_;
  DeviceTraces result_;
  int64_t base_time_ns_ = 0;
  bool truncated_ = false;
  std::vector<std::pair<int64_t, Span>> host_steps_;  // step number first
  std::map<size_t, std::vector<std::pair<int64_t, Span>>> device_steps_;  // by trace
  std::unordered_map<int64_t, size_t> trace_of_correlation_;
};

base::Result<DeviceTraces> XplaneImport::Run() {
  if (!LooksLikeXplane(bytes_)) {
    return base::Fail("TRACE-0170", base::ExitCode::kInput,
                      "this is not an XLA profile: it does not begin with a plane",
                      std::string(name_),
                      "give a *.xplane.pb file from plugins/profile/<time>/ of the "
                      "profiler's log folder");
  }
  ReadSpace();
  DevicePlanes devices;
  for (const XPlane& plane : planes_) {
    if (const auto device = ParseXlaDevice(plane.name)) {
      devices[*device].push_back(&plane);
    } else if (plane.name == "Task Environment") {
      const int64_t start = PlaneStat(plane, plane.ids.profile_start).value_or(0);
      if (start > 0 && start < kTimeLimitNs) base_time_ns_ = start;
    }
  }
  for (const auto& [device, planes] : devices) AddDevice(device, planes);
  if (result_.traces.empty()) result_.traces.push_back({.device = "host"});
  for (const XPlane& plane : planes_) {
    if (IsXlaHostPlane(plane.name)) {
      AddHostPlane(plane);
    } else if (!ParseXlaDevice(plane.name) && !plane.lines.empty()) {
      result_.stats.Add("plane not used", Severity::kInfo,
                        static_cast<int64_t>(plane.offset));
    }
  }
  Finish();
  return std::move(result_);
}

void XplaneImport::ReadSpace() {
  WireReader reader(bytes_);
  WireField field;
  while (reader.Next(field)) {
    if (field.type != WireField::Type::kBytes) continue;
    truncated_ = truncated_ || field.clipped;
    if (field.number == 1) {
      planes_.push_back(ReadXPlane(field));
      const XPlane& plane = planes_.back();
      if (plane.malformed > 0 && !field.clipped) {
        result_.stats.Add("malformed part of a plane", Severity::kError,
                          static_cast<int64_t>(plane.malformed_at),
                          static_cast<int64_t>(plane.malformed));
      }
    } else if (field.number == 2) {
      result_.stats.Add("error reported by the profiler", Severity::kWarning,
                        static_cast<int64_t>(field.offset));
    } else if (field.number == 3) {
      result_.stats.Add("warning reported by the profiler", Severity::kInfo,
                        static_cast<int64_t>(field.offset));
    } else if (field.number == 4 && result_.host.empty()) {
      result_.host = std::string(field.bytes.substr(0, 256));
    }
  }
  if (!reader.malformed()) return;
  if (reader.position() >= bytes_.size()) {
    truncated_ = true;
  } else {
    result_.stats.Add("malformed plane, the rest is not read", Severity::kError,
                      static_cast<int64_t>(reader.position()));
  }
}

std::vector<XLine> XplaneImport::Lines(const XPlane& plane) {
  std::vector<XLine> lines;
  for (const WireField& field : plane.lines) {
    bool good = true;
    XLine line = ReadXLine(field, good);
    if ((!good || field.clipped) && !AtCut(field.content + field.bytes.size())) {
      Stats().Add("malformed line", Severity::kError,
                  static_cast<int64_t>(field.offset));
    }
    if (line.event_count > 0) lines.push_back(line);
  }
  return lines;
}

void XplaneImport::AddDevice(const XlaDevice& device,
                             std::span<const XPlane* const> planes) {
  if (result_.traces.size() >= kMostDevices) {
    result_.stats.Add("device beyond the first 256 not read", Severity::kError,
                      static_cast<int64_t>(planes[0]->offset));
    return;
  }
  result_.traces.push_back(
      {.device = std::string(planes[0]->name), .device_index = device.number});
  const size_t trace = result_.traces.size() - 1;
  for (const XPlane* plane : planes) {
    const std::vector<XLine> lines = Lines(*plane);
    std::vector<std::string_view> names;
    for (const XLine& line : lines) names.push_back(line.name);
    const XlaLineUse use = ChooseXlaLines(names);
    for (size_t i = 0; i < lines.size(); ++i) {
      if (use.counted[i]) {
        AddDeviceLine(*plane, lines[i], use.nested_ops);
        continue;
      }
      Stats().Add("event of a derived line not used", Severity::kInfo,
                  static_cast<int64_t>(lines[i].field.offset),
                  static_cast<int64_t>(lines[i].event_count));
      if (lines[i].name != "Steps") continue;
      for (const Span& span : Spans(*plane, lines[i])) {
        std::optional<int64_t> step = span.event.step_num;
        if (!step) step = span.event.step_name;
        if (!step) {
          step = base::ParseInt(EventName(*plane, span.event, span.offset));
        }
        if (step) device_steps_[trace].emplace_back(*step, span);
      }
    }
  }
  if (result_.traces[trace].store.size() == 0) {
    result_.stats.Merge(result_.traces[trace].store.stats);
    device_steps_.erase(trace);
    result_.traces.pop_back();
  }
}

bool XplaneImport::TimesOf(const XLine& line, Span& span) {
  const auto offset = static_cast<int64_t>(span.offset);
  if (span.event.aggregated) {
    Stats().Add("aggregated event without a time", Severity::kInfo, offset);
    return false;
  }
  int64_t duration_ps = span.event.duration_ps;
  if (duration_ps > kLongestEventPs) {
    Stats().Add("event longer than 7 days", Severity::kWarning, offset);
    return false;
  }
  if (duration_ps < 0) {
    Stats().Add("negative duration set to 0", Severity::kWarning, offset);
    duration_ps = 0;
  }
  const int64_t line_base = line.timestamp_ns < base_time_ns_ ? base_time_ns_ : 0;
  const auto within = [](int64_t value) {
    return value >= -kTimeLimitNs && value <= kTimeLimitNs;
  };
  if (!within(line.timestamp_ns) || !within(span.event.offset_ps)) {
    Stats().Add("malformed event", Severity::kError, offset);
    return false;
  }
  const int64_t line_start = line.timestamp_ns + line_base;
  span.start_ns = line_start + RoundPs(span.event.offset_ps);
  span.end_ns = line_start + RoundPs(span.event.offset_ps + duration_ps);
  if (!within(span.start_ns) || !within(span.end_ns)) {
    Stats().Add("malformed event", Severity::kError, offset);
    return false;
  }
  return true;
}

std::vector<Span> XplaneImport::Spans(const XPlane& plane, const XLine& line) {
  std::vector<Span> spans;
  ForEachEvent(line, [&](const WireField& field) {
    Span span{.offset = field.offset};
    if (field.clipped || !ReadXEvent(field, plane, span.event)) {
      if (!AtCut(field.content + field.bytes.size())) {
        Stats().Add("malformed event", Severity::kError,
                    static_cast<int64_t>(field.offset));
      }
      return;
    }
    if (TimesOf(line, span)) spans.push_back(span);
  });
  return spans;
}

std::string XplaneImport::EventName(const XPlane& plane, const XEvent& event,
                                    size_t offset) {
  const auto found = plane.event_names.find(event.metadata_id);
  if (found != plane.event_names.end() && !found->second.empty()) {
    return std::string(found->second);
  }
  Stats().Add("event without a name", Severity::kWarning, static_cast<int64_t>(offset));
  return fmt::format("event {}", event.metadata_id);
}

void XplaneImport::AddDeviceLine(const XPlane& plane, const XLine& line, bool ops) {
  std::vector<Span> spans = Spans(plane, line);
  std::ranges::stable_sort(spans, [](const Span& a, const Span& b) {
    return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.end_ns > b.end_ns;
  });
  std::vector<bool> holds(spans.size(), false);
  if (ops) {
    std::vector<size_t> open;  // spans around the present one, outermost first
    for (size_t i = 0; i < spans.size(); ++i) {
      while (!open.empty() && spans[open.back()].end_ns <= spans[i].start_ns) {
        open.pop_back();
      }
      if (!open.empty() && spans[i].end_ns > spans[i].start_ns &&
          spans[i].end_ns <= spans[open.back()].end_ns) {
        holds[open.back()] = true;
      }
      open.push_back(i);
    }
  }
  for (size_t i = 0; i < spans.size(); ++i) {
    AddDeviceEvent(plane, line, spans[i], holds[i]);
  }
}

void XplaneImport::AddDeviceEvent(const XPlane& plane, const XLine& line,
                                  const Span& span, bool holds_others) {
  DeviceTrace& trace = result_.traces.back();
  EventStore& store = trace.store;
  const std::string name = EventName(plane, span.event, span.offset);
  const std::string_view category =
      holds_others ? "gpu_user_annotation" : XlaDeviceCategory(name);
  int32_t collective = kNoCollective;
  if (category == "kernel") {
    std::optional<std::string> op = XlaCollective(span.event.hlo_op, true);
    const bool library = IsCollectiveSpan(name, KindOfCategory(category), false,
                                          CollectiveNames::BuiltIn());
    if (!library) op = XlaCollective(name);
    if (library || op) {
      const std::string called = op ? *op : CanonicalCollectiveName(name);
      store.collectives.push_back({.name = store.strings.Intern(called)});
      collective = static_cast<int32_t>(store.collectives.size() - 1);
    }
  }
  const int32_t stream = XlaStream(line.name, line.id);
  store.Append(span.start_ns, span.end_ns, -1, trace.device_index, stream,
               store.strings.Intern(category), store.strings.Intern(name), collective,
               stream, span.event.correlation);
  if (span.event.correlation != 0) {
    trace_of_correlation_.emplace(span.event.correlation, result_.traces.size() - 1);
  }
}

void XplaneImport::AddHostPlane(const XPlane& plane) {
  for (const XLine& line : Lines(plane)) {
    for (const Span& span : Spans(plane, line)) AddHostEvent(plane, line, span);
  }
}

void XplaneImport::AddHostEvent(const XPlane& plane, const XLine& line,
                                const Span& span) {
  if (span.event.step_num) {
    host_steps_.emplace_back(*span.event.step_num, span);
    return;
  }
  const std::string name = EventName(plane, span.event, span.offset);
  size_t trace = 0;
  std::string_view category = "cpu_op";
  if (name.starts_with('$')) category = "python_function";
  if (span.event.correlation != 0 && IsLaunchApi(name)) {
    category = "cuda_runtime";
    const auto found = trace_of_correlation_.find(span.event.correlation);
    if (found != trace_of_correlation_.end()) trace = found->second;
  }
  EventStore& store = result_.traces[trace].store;
  store.Append(span.start_ns, span.end_ns, -1, kXplaneHostProcess, line.id,
               store.strings.Intern(category), store.strings.Intern(name),
               kNoCollective, -1, span.event.correlation);
}

// Host annotations are what the program calls a step; a device line only repeats them.
void XplaneImport::AddSteps() {
  for (size_t i = 0; i < result_.traces.size(); ++i) {
    EventStore& store = result_.traces[i].store;
    for (const auto& [number, span] :
         host_steps_.empty() ? device_steps_[i] : host_steps_) {
      store.Append(span.start_ns, span.end_ns, -1, kXplaneHostProcess, 0,
                   store.strings.Intern("user_annotation"),
                   store.strings.Intern(fmt::format("ProfilerStep#{}", number)));
    }
  }
}

void XplaneImport::Finish() {
  AddSteps();
  const bool several = result_.traces.size() > 1;
  for (size_t i = 0; i < result_.traces.size(); ++i) {
    DeviceTrace& trace = result_.traces[i];
    int32_t rank = options_.first_rank;
    if (rank >= 0 || several) rank = std::max(rank, 0) + static_cast<int32_t>(i);
    trace.store.truncated = truncated_;
    trace.store.truncated_at = truncated_ ? static_cast<int64_t>(bytes_.size()) : 0;
    trace.store.SetRank(rank);
    trace.store.Sort();
  }
  result_.rank_source = options_.first_rank >= 0
                            ? "counted from the rank that was given, by device number"
                        : several
                            ? "device numbers in order; the profile names no ranks"
                            : "not known; the profile names no rank";
}

}  // namespace

bool LooksLikeXplane(std::string_view bytes) {
  WireReader reader(bytes);
  WireField field;
  if (!reader.Next(field) || field.number != 1 ||
      field.type != WireField::Type::kBytes) {
    return false;
  }
  WireReader plane(field);
  WireField part;
  while (plane.Next(part)) {
    if (part.number == 2 && part.type == WireField::Type::kBytes) {
      return IsXlaPlaneName(part.bytes);
    }
    if (part.number == 0 || part.number > 6) return false;
  }
  return false;
}

base::Result<DeviceTraces> ParseXplane(std::string_view bytes, std::string_view name,
                                       const XplaneOptions& options) {
  return XplaneImport(bytes, name, options).Run();
}

base::Result<DeviceTraces> ReadXplane(const std::string& path,
                                      const XplaneOptions& options) {
  SS_TRY(const std::unique_ptr<ByteSource> source, OpenFile(path));
  SS_TRY(const std::string bytes, ReadAll(*source, path, options.max_bytes));
  SS_TRY(DeviceTraces traces, ParseXplane(bytes, path, options));
  for (DeviceTrace& trace : traces.traces) {
    if (!source->damaged() || trace.store.truncated) continue;
    trace.store.truncated = true;
    trace.store.truncated_at = static_cast<int64_t>(bytes.size());
  }
  return traces;
}

}  // namespace stepslack::trace

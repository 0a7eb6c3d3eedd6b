#include "stepslack/trace/mllog.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "json_scanner.h"
#include "mllog_line.h"
#include "stepslack/base/text.h"
#include "stepslack/trace/input_files.h"
#include "stepslack/trace/intervals.h"

namespace stepslack::trace {
namespace {

constexpr size_t kKinds = 5;
constexpr std::array<std::string_view, kKinds> kKindNames = {"init", "run", "epoch",
                                                             "block", "eval"};

struct Event {
  MllogLine line;
  int64_t offset = 0;
};

class MllogImport {
 public:
  MllogImport(std::string_view text, std::string_view name)
      : text_(text), name_(name) {}

  base::Result<MllogRun> Run();

 private:
  void ReadLines();
  void ReadLine(size_t marker, size_t end);
  void Apply(const Event& event);
  void ApplyFact(const Event& event);
  void SetNumber(std::optional<int64_t>& target, const Event& event);
  void AddPoint(std::vector<MllogPoint>& points, std::string_view value,
                const Event& event);
  void AddAccuracy(const Event& event);
  void Start(MllogKind kind, const Event& event);
  void Stop(MllogKind kind, const Event& event);
  void CloseOpen();
  void SetTotals();
  void SetEvalTotal(const MllogInterval& run);
  const MllogInterval* First(MllogKind kind) const;
  // Index of the newest interval of a kind; kNone before the first.
  size_t& Newest(MllogKind kind) { return newest_[static_cast<size_t>(kind)]; }
  bool& IsOpen(MllogKind kind) { return open_[static_cast<size_t>(kind)]; }
  void Count(std::string_view what, Severity severity, const Event& event) {
    run_.stats.Add(what, severity, event.offset);
  }

  static constexpr size_t kNone = static_cast<size_t>(-1);
  using Accuracy = std::tuple<std::string_view, std::optional<double>,
                              std::optional<int64_t>, std::string_view>;

  std::string_view text_;
  std::string_view name_;
  std::unordered_set<std::string_view> seen_;
  std::set<Accuracy> accuracies_;
  std::vector<Event> events_;
  std::array<size_t, kKinds> newest_{kNone, kNone, kNone, kNone, kNone};
  std::array<bool, kKinds> open_{};
  MllogRun run_;
};

base::Result<MllogRun> MllogImport::Run() {
  ReadLines();
  if (events_.empty()) {
    return base::Fail("TRACE-0143", base::ExitCode::kInput,
                      "the log has no usable :::MLLOG line", std::string(name_),
                      "give the output of an MLPerf training run, with its :::MLLOG "
                      "lines as they were printed");
  }
  std::stable_sort(events_.begin(), events_.end(), [](const Event& a, const Event& b) {
    return a.line.time_ns < b.line.time_ns;
  });
  for (const Event& event : events_) Apply(event);
  CloseOpen();
  SetTotals();
  std::stable_sort(run_.intervals.begin(), run_.intervals.end(),
                   [](const MllogInterval& a, const MllogInterval& b) {
                     return std::tie(a.start_ns, a.kind) < std::tie(b.start_ns, b.kind);
                   });
  return std::move(run_);
}

void MllogImport::ReadLines() {
  size_t marker = text_.find(kMllogMarker);
  while (marker != std::string_view::npos) {
    const size_t next = text_.find(kMllogMarker, marker + kMllogMarker.size());
    const size_t line_end = std::min(text_.find('\n', marker), text_.size());
    ReadLine(marker, std::min(next, line_end));
    marker = next;
  }
}

void MllogImport::ReadLine(size_t marker, size_t end) {
  ++run_.lines;
  const size_t from = marker + kMllogMarker.size();
  const std::string_view text = base::Trim(text_.substr(from, end - from));
  const std::optional<MllogLine> line = ParseMllogLine(text);
  const auto offset = static_cast<int64_t>(marker);
  if (!line) {
    run_.stats.Add("broken line", Severity::kError, offset);
  } else if (!seen_.insert(line->text).second) {
    run_.stats.Add("repeated line", Severity::kInfo, offset);
  } else {
    events_.push_back({*line, offset});
  }
}

void MllogImport::Apply(const Event& event) {
  const std::string_view key = event.line.key;
  for (size_t kind = 0; kind < kKinds; ++kind) {
    const std::string_view name = kKindNames[kind];
    if (!key.starts_with(name)) continue;
    const std::string_view edge = key.substr(name.size());
    if (edge == "_start") return Start(static_cast<MllogKind>(kind), event);
    if (edge == "_stop") return Stop(static_cast<MllogKind>(kind), event);
  }
  if (key == "eval_accuracy") {
    AddAccuracy(event);
  } else if (key == "throughput") {
    AddPoint(run_.throughput, event.line.value, event);
  } else if (key == "tracked_stats") {
    if (!event.line.throughput.empty()) {
      AddPoint(run_.throughput, event.line.throughput, event);
    }
  } else {
    ApplyFact(event);
  }
}

void MllogImport::ApplyFact(const Event& event) {
  const std::string_view key = event.line.key;
  const auto set_text = [&event](std::string& target) {
    if (target.empty()) target = DecodeJsonText(event.line.value);
  };
  if (key == "submission_benchmark") set_text(run_.benchmark);
  if (key == "submission_org") set_text(run_.submitter);
  if (key == "submission_platform") set_text(run_.platform);
  if (key == "seed") SetNumber(run_.seed, event);
  if (key == "global_batch_size") SetNumber(run_.global_batch_size, event);
  if (key == "train_samples") SetNumber(run_.train_samples, event);
  if (key == "eval_samples") SetNumber(run_.eval_samples, event);
}

// The first one counts: every process has a seed of its own.
void MllogImport::SetNumber(std::optional<int64_t>& target, const Event& event) {
  if (target) return;
  target = base::ParseInt(event.line.value);
  if (!target) Count("value that is no number", Severity::kWarning, event);
}

void MllogImport::AddPoint(std::vector<MllogPoint>& points, std::string_view value,
                           const Event& event) {
  const std::optional<double> number = NumberOf(value);
  if (!number) {
    Count("value that is no number", Severity::kWarning, event);
    return;
  }
  points.push_back(
      {event.line.time_ns, *number, DecodeJsonText(event.line.metric), event.line.at});
}

void MllogImport::AddAccuracy(const Event& event) {
  const MllogLine& line = event.line;
  const bool placed = line.at.epoch || line.at.samples;
  if (placed &&
      !accuracies_.insert({line.metric, line.at.epoch, line.at.samples, line.value})
           .second) {
    Count("line of another process", Severity::kInfo, event);
    return;
  }
  AddPoint(run_.eval_accuracy, line.value, event);
}

void MllogImport::Start(MllogKind kind, const Event& event) {
  const size_t newest = Newest(kind);
  if (IsOpen(kind)) {
    MllogInterval& open = run_.intervals[newest];
    if (kind == MllogKind::kInit || kind == MllogKind::kRun ||
        open.at_start == event.line.at) {
      Count("line of another process", Severity::kInfo, event);
      return;
    }
    open.end_ns = event.line.time_ns;
    open.ended = false;
    Count("interval without an end", Severity::kWarning, event);
  } else if (kind == MllogKind::kInit && newest != kNone &&
             Newest(MllogKind::kRun) == kNone) {
    Count("line of another process", Severity::kInfo, event);
    return;
  } else if (kind == MllogKind::kRun && newest != kNone) {
    Count("further run, not measured", Severity::kWarning, event);
  }
  Newest(kind) = run_.intervals.size();
  IsOpen(kind) = true;
  MllogInterval interval;
  interval.kind = kind;
  interval.start_ns = event.line.time_ns;
  interval.end_ns = event.line.time_ns;
  interval.at_start = event.line.at;
  run_.intervals.push_back(std::move(interval));
}

void MllogImport::Stop(MllogKind kind, const Event& event) {
  const size_t newest = Newest(kind);
  if (!IsOpen(kind)) {
    const bool again =
        newest != kNone && run_.intervals[newest].at_end == event.line.at;
    if (again) {
      Count("line of another process", Severity::kInfo, event);
    } else {
      Count("end without a start", Severity::kWarning, event);
    }
    return;
  }
  MllogInterval& interval = run_.intervals[newest];
  interval.end_ns = event.line.time_ns;
  interval.at_end = event.line.at;
  interval.status = DecodeJsonText(event.line.status);
  IsOpen(kind) = false;
}

void MllogImport::CloseOpen() {
  for (size_t kind = 0; kind < kKinds; ++kind) {
    if (!open_[kind]) continue;
    MllogInterval& interval = run_.intervals[newest_[kind]];
    interval.end_ns = events_.back().line.time_ns;
    interval.ended = false;
    Count("interval without an end", Severity::kWarning, events_.back());
  }
}

const MllogInterval* MllogImport::First(MllogKind kind) const {
  for (const MllogInterval& interval : run_.intervals) {
    if (interval.kind == kind) return &interval;
  }
  return nullptr;
}

void MllogImport::SetTotals() {
  const MllogInterval* init = First(MllogKind::kInit);
  const MllogInterval* run = First(MllogKind::kRun);
  if (init == nullptr) {
    run_.no_init = "the log has no init_start";
  } else if (run != nullptr && run->start_ns >= init->start_ns) {
    run_.init_ns = run->start_ns - init->start_ns;
  } else if (init->ended) {
    run_.init_ns = init->end_ns - init->start_ns;
  } else {
    run_.no_init = "the log has neither run_start nor init_stop";
  }
  if (run == nullptr || !run->ended) {
    run_.no_run =
        run == nullptr ? "the log has no run_start" : "the log has no run_stop";
    run_.no_eval = run_.no_run;
    return;
  }
  run_.run_ns = run->end_ns - run->start_ns;
  run_.status = run->status;
  SetEvalTotal(*run);
}

void MllogImport::SetEvalTotal(const MllogInterval& run) {
  std::vector<Interval> spans;
  for (const MllogInterval& interval : run_.intervals) {
    if (interval.kind != MllogKind::kEval) continue;
    spans.push_back({interval.start_ns, interval.end_ns});
  }
  if (spans.empty()) {
    run_.no_eval = run_.eval_accuracy.empty()
                       ? "the log has no evaluation"
                       : "the log has accuracies, but not the time they took";
    return;
  }
  const IntervalSet evaluations(std::move(spans));
  const int64_t inside = evaluations.Clip({run.start_ns, run.end_ns}).LengthNs();
  run_.eval_after_run_ns =
      evaluations.Clip({run.end_ns, events_.back().line.time_ns}).LengthNs();
  run_.eval_ns = inside;
  run_.train_ns = *run_.run_ns - inside;
}

}  // namespace

std::string_view ToString(MllogKind kind) {
  return kKindNames[static_cast<size_t>(kind)];
}

bool LooksLikeMllog(std::string_view text) {
  return text.find(kMllogMarker) != std::string_view::npos;
}

base::Result<MllogRun> ParseMllog(std::string_view text, std::string_view name) {
  return MllogImport(text, name).Run();
}

base::Result<MllogRun> ReadMllog(const std::string& path, const MllogOptions& options) {
  SS_TRY(const std::unique_ptr<ByteSource> source, OpenFile(path));
  SS_TRY(const std::string text, ReadAll(*source, path, options.max_bytes));
  SS_TRY(MllogRun run, ParseMllog(text, path));
  if (source->damaged()) {
    run.stats.Add("input ended inside", Severity::kError,
                  static_cast<int64_t>(text.size()));
  }
  return run;
}

}  // namespace stepslack::trace

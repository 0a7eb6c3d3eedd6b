#include "stepslack/logs/text_log.h"

#include <algorithm>
#include <functional>

#include "log_time.h"
#include "stepslack/base/text.h"
#include "text_records.h"

namespace stepslack::logs {
namespace {

using trace::Severity;

// Detection looks this far: programs print pages of arguments before the first step.
constexpr size_t kDetectBytes = size_t{4} << 20;

// Calls visit(line, offset) for every line of the text until it returns false.
void ForEachLine(std::string_view text,
                 const std::function<bool(std::string_view, size_t)>& visit) {
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    if (!visit(text.substr(at, end - at), at)) return;
    at = end + 1;
  }
}

bool IsRecord(std::string_view line) {
  for (const auto find : {FindMegatron, FindNemo, FindTitan, FindDeepSpeed, FindDict}) {
    if (find(line) != std::string_view::npos) return true;
  }
  return false;
}

void ReadLine(const LogLine& line, TextLog& log) {
  for (const auto read : {ReadNemoLine, ReadMegatronLine, ReadDeepSpeedLine,
                          ReadTitanLine, ReadDictLine, ReadArgumentLine}) {
    if (read(line, log) == LineResult::kTaken) return;
  }
  if (!base::Trim(line.text).empty()) {
    log.Count("line without metrics", Severity::kInfo, line);
  }
}

// Joins a Megatron record that a terminal wrapped with the line that follows it.
class LineJoiner {
 public:
  explicit LineJoiner(TextLog& log) : log_(log) {}

  void Next(std::string_view raw, size_t offset) {
    const std::string_view line = CleanLine(raw, storage_);
    if (open_ && IsMegatronRest(line)) {
      pending_ += ' ';
      pending_ += line;
      log_.Count("wrapped line joined", Severity::kInfo, {line, offset});
      Flush();
      return;
    }
    Flush();
    if (MegatronLineIsOpen(line)) {
      open_ = true;
      pending_ = line;
      offset_ = offset;
    } else {
      ReadLine({line, offset}, log_);
    }
  }

  void Flush() {
    if (open_) ReadLine({pending_, offset_}, log_);
    open_ = false;
  }

 private:
  TextLog& log_;
  std::string storage_;
  std::string pending_;
  size_t offset_ = 0;
  bool open_ = false;
};

}  // namespace

bool TextLog::Begin(std::string_view kind, int64_t step, const LogLine& line,
                    size_t marker, std::optional<int64_t> samples,
                    std::string_view step_source) {
  const std::string_view prefix = line.text.substr(0, marker);
  auto found = trackers_.find(kind);
  if (found == trackers_.end()) {
    found = trackers_.emplace(std::string(kind), StepTracker()).first;
    const std::string framework(kind.substr(0, kind.find(' ')));
    if (std::find(frameworks_.begin(), frameworks_.end(), framework) ==
        frameworks_.end()) {
      frameworks_.push_back(framework);
    }
  }
  const size_t content = std::hash<std::string_view>{}(line.text.substr(marker));
  switch (found->second.Next(RankLabel(prefix), step, content)) {
    case StepTracker::Verdict::kOtherRank:
      Count("record of another rank", Severity::kInfo, line);
      return false;
    case StepTracker::Verdict::kRepeated:
      Count("repeated record", Severity::kInfo, line);
      return false;
    case StepTracker::Verdict::kRestart:
      Count("restart: step goes back", Severity::kInfo, line);
      break;
    case StepTracker::Verdict::kNew:
      break;
  }
  Place place{.step = step,
              .samples = samples,
              .offset = line.offset,
              .segment = found->second.segment(),
              .step_source = step_source,
              .source = kind};
  if (const auto time = FindTime(prefix.substr(0, 256))) {
    place.time_ns = time->ns;
    (time->zone ? zone_ : no_zone_) = true;
  }
  builder_.Begin(place);
  return true;
}

void TextLog::Count(std::string_view what, Severity severity, const LogLine& line) {
  builder_.stats().Add(what, severity, static_cast<int64_t>(line.offset));
}

SeriesSet TextLog::Finish() {
  SeriesSet& set = builder_.set();
  for (const std::string& framework : frameworks_) {
    set.run.framework += (set.run.framework.empty() ? "" : "+") + framework;
  }
  if (zone_ || no_zone_) set.run.clock = no_zone_ ? Clock::kLocal : Clock::kUtc;
  if (no_zone_) {
    set.notes.push_back(
        "Dates have no zone and are taken as UTC: only differences of times mean "
        "something.");
  }
  if (zone_ && no_zone_) {
    set.notes.push_back("Some dates have a zone and some have none.");
  }
  return builder_.Finish();
}

bool LooksLikeTextLog(std::string_view text) {
  bool found = false;
  std::string storage;
  ForEachLine(text.substr(0, kDetectBytes), [&](std::string_view line, size_t) {
    found = IsRecord(CleanLine(line, storage));
    return !found;
  });
  return found;
}

base::Result<SeriesSet> ParseTextLog(std::string_view text, std::string_view name) {
  TextLog log(name);
  LineJoiner joiner(log);
  ForEachLine(text, [&](std::string_view line, size_t offset) {
    joiner.Next(line, offset);
    return true;
  });
  joiner.Flush();
  const size_t last = text.rfind('\n') + 1;  // 0 when there is none
  if (last < text.size() && IsRecord(text.substr(last))) {
    log.Count("last record without a line end, may be cut", Severity::kWarning,
              {text.substr(last), last});
  }
  if (log.builder().empty()) {
    return base::Fail(
        "LOGS-0001", base::ExitCode::kInput,
        "no line with metrics of a program that is known", std::string(name),
        "give the output of rank 0, or a CSV or JSONL file with the names "
        "of its columns (docs/formats_logs.md)");
  }
  return log.Finish();
}

}  // namespace stepslack::logs

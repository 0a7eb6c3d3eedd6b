// Lines of the DeepSpeed engine: deepspeed/utils/timer.py (throughput, wall-clock
// breakdown), runtime/engine.py (step lines), the loss scaler.
#include <array>

#include "stepslack/base/text.h"
#include "text_records.h"

namespace stepslack::logs {
namespace {

constexpr std::string_view kSpeed = "SamplesPerSec=";
constexpr std::string_view kTimers = "time (ms) |";
constexpr std::string_view kStep = "] step=";
constexpr double kGiB = 1073741824.0;
constexpr double kMiB = 1048576.0;

struct Timer {
  std::string_view logged;
  std::string_view metric;
};
constexpr auto kTimerNames =
    std::to_array<Timer>({{"fwd", "forward_seconds"},
                          {"forward", "forward_seconds"},
                          {"bwd", "backward_seconds"},
                          {"backward", "backward_seconds"},
                          {"bwd_allreduce", "comm_seconds"},
                          {"backward_allreduce", "comm_seconds"},
                          {"step", "optimizer_seconds"}});

constexpr std::array<std::string_view, 4> kOverflows = {
    "Overflow detected. Skipping step", "OVERFLOW!", "Grad overflow on iteration",
    "Skipping overflow step"};

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// Splits "a=1, b=[2, 3], c=4" at the commas outside of brackets.
std::vector<std::string_view> SplitPairs(std::string_view text) {
  std::vector<std::string_view> pairs;
  int depth = 0;
  size_t from = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ',';
    if (c == '[' || c == '(') ++depth;
    if (c == ']' || c == ')') --depth;
    if (i == text.size() || (c == ',' && depth <= 0)) {
      pairs.push_back(base::Trim(text.substr(from, i - from)));
      from = i + 1;
    }
  }
  return pairs;
}

std::optional<double> Bytes(std::string_view value) {
  const size_t unit = value.find("GB");
  if (unit == std::string_view::npos) return std::nullopt;
  const auto number = ParseNumber(value.substr(0, unit));
  return number ? std::optional(*number * kGiB) : std::nullopt;
}

// The learning rates of the parameter groups: the first is kept.
void AddList(std::string_view key, std::string_view value, const LogLine& line,
             TextLog& log) {
  std::string_view inner = value;
  inner.remove_prefix(1);
  const std::string_view first = inner.substr(0, inner.find_first_of(",]"));
  for (const std::string_view other :
       base::Split(inner.substr(0, inner.find(']')), ',')) {
    if (base::Trim(other) == base::Trim(first)) continue;
    log.Count("parameter groups with other values, first kept", trace::Severity::kInfo,
              line);
    break;
  }
  log.builder().Text(key, first);
}

void AddPairs(std::string_view text, const LogLine& line, TextLog& log) {
  for (const std::string_view pair : SplitPairs(text)) {
    const size_t equal = pair.find('=');
    if (equal == std::string_view::npos) continue;
    const std::string_view key = pair.substr(0, equal);
    const std::string_view value = pair.substr(equal + 1);
    const size_t slash = key.rfind('/');
    const std::string_view name = slash == key.npos ? key : key.substr(slash + 1);
    if (name == "step" || name == "global_step" || name == "mom") continue;
    if (const auto bytes = Bytes(value)) {
      log.builder().ValueAs(name == "MemAllocated" ? kMemoryBytes : kPeakMemoryBytes,
                            "bytes", name, *bytes);
    } else if (name == "skipped") {
      log.builder().ValueAs("skipped_steps_total", "", name,
                            ParseNumber(value).value_or(0));
    } else if (value.starts_with('[')) {
      AddList(name, value, line, log);
    } else {
      log.builder().Text(name, value);
    }
  }
}

// "epoch=0/micro_step=199/global_step=199, ..." or, before 2022, "0/10, SamplesPer...".
LineResult ReadSpeed(const LogLine& line, TextLog& log) {
  constexpr std::string_view kGlobal = "global_step=";
  const size_t speed = line.text.find(kSpeed);
  size_t at = line.text.find(kGlobal);
  std::string_view rest;
  if (at != std::string_view::npos) {
    rest = line.text.substr(at + kGlobal.size());
  } else {
    at = line.text.rfind('/', speed);
    if (at == std::string_view::npos) return LineResult::kNotMine;
    rest = line.text.substr(at + 1);
  }
  const auto step = TakeInt(rest);
  if (!step || !rest.starts_with(',')) return LineResult::kNotMine;
  if (!log.Begin("deepspeed speed", *step, line, at)) return LineResult::kTaken;
  AddPairs(rest, line, log);
  log.builder().End();
  return LineResult::kTaken;
}

void AddTimer(std::string_view name, double ms, TextLog& log) {
  for (const Timer& timer : kTimerNames) {
    if (timer.logged != name) continue;
    log.builder().ValueAs(timer.metric, "s", name, ms / 1000);
    return;
  }
  log.builder().ValueAs(std::string(name) + "_seconds", "s", name, ms / 1000);
}

LineResult ReadStep(const LogLine& line, TextLog& log) {
  const size_t at = line.text.find(kStep);
  std::string_view rest = line.text.substr(at + kStep.size());
  const auto step = TakeInt(rest);
  if (!step) return LineResult::kNotMine;
  log.deepspeed_step = *step;
  if (!log.Begin("deepspeed step", *step, line, at)) return LineResult::kTaken;
  AddPairs(rest, line, log);
  log.builder().End();
  if (!log.optimizer_timers.empty() &&
      log.Begin("deepspeed optimizer timers", *step, line, at, std::nullopt,
                "DeepSpeed step line that follows")) {
    for (const auto& [name, ms] : log.optimizer_timers) AddTimer(name, ms, log);
    log.builder().End();
  }
  log.optimizer_timers.clear();
  return LineResult::kTaken;
}

LineResult ReadTimers(const LogLine& line, TextLog& log) {
  const size_t at = line.text.find(kTimers);
  std::vector<std::pair<std::string, double>> timers;
  for (const std::string_view piece :
       base::Split(line.text.substr(at + kTimers.size()), '|')) {
    const size_t colon = piece.find(':');
    if (colon == std::string_view::npos) continue;
    const std::string_view name = base::Trim(piece.substr(0, colon));
    const auto ms = ParseNumber(piece.substr(colon + 1));
    if (name.ends_with("_microstep")) {
      log.Count("timer of a micro step, not kept", trace::Severity::kInfo, line);
    } else if (!ms || timers.size() >= 64) {
      log.Count("timer that is no number", trace::Severity::kWarning, line);
    } else {
      timers.emplace_back(name, *ms);
    }
  }
  if (timers.empty()) return LineResult::kTaken;
  if (timers.front().first.starts_with("optimizer_")) {
    log.optimizer_timers = std::move(timers);
  } else if (!log.deepspeed_step) {
    log.Count("timers before any step line, not kept", trace::Severity::kInfo, line);
  } else if (log.Begin("deepspeed timers", *log.deepspeed_step, line, at, std::nullopt,
                       "DeepSpeed step line before")) {
    for (const auto& [name, ms] : timers) AddTimer(name, ms, log);
    log.builder().End();
  }
  return LineResult::kTaken;
}

// "(after 1 iterations) memory (MB) | allocated: 1.5 | max allocated: 2 | ..."
LineResult ReadMemory(const LogLine& line, TextLog& log) {
  constexpr std::string_view kAfter = "(after ";
  const size_t at = line.text.find(kAfter);
  if (at == std::string_view::npos) return LineResult::kNotMine;
  std::string_view rest = line.text.substr(at + kAfter.size());
  const auto step = TakeInt(rest);
  if (!step) return LineResult::kNotMine;
  if (!log.Begin("megatron memory", *step, line, at)) return LineResult::kTaken;
  for (const std::string_view piece : base::Split(rest, '|')) {
    const size_t colon = piece.find(':');
    if (colon == std::string_view::npos) continue;
    const std::string_view name = base::Trim(piece.substr(0, colon));
    const auto mib = ParseNumber(piece.substr(colon + 1));
    if (!mib) continue;
    const std::string metric = name == "allocated"       ? std::string(kMemoryBytes)
                               : name == "max allocated" ? std::string(kPeakMemoryBytes)
                               : name == "reserved"      ? "reserved_memory_bytes"
                                                         : "peak_reserved_memory_bytes";
    log.builder().ValueAs(metric, "bytes", name, *mib * kMiB);
  }
  log.builder().End();
  return LineResult::kTaken;
}

}  // namespace

size_t FindDeepSpeed(std::string_view line) {
  const size_t speed = line.find(kSpeed);
  if (speed != std::string_view::npos) return speed;
  const size_t timers = line.find(kTimers);
  if (timers != std::string_view::npos) return timers;
  if (Contains(line, "log_dist]")) return line.find(kStep);
  return std::string_view::npos;
}

LineResult ReadDeepSpeedLine(const LogLine& line, TextLog& log) {
  if (Contains(line.text, kSpeed)) return ReadSpeed(line, log);
  if (Contains(line.text, kTimers)) return ReadTimers(line, log);
  if (Contains(line.text, kStep)) return ReadStep(line, log);
  if (Contains(line.text, ") memory (MB) |")) return ReadMemory(line, log);
  for (const std::string_view overflow : kOverflows) {
    if (!Contains(line.text, overflow)) continue;
    log.Count("step skipped for overflow", trace::Severity::kInfo, line);
    return LineResult::kTaken;
  }
  return LineResult::kNotMine;
}

}  // namespace stepslack::logs

// Files of /proc as they were at one moment: meminfo, loadavg,
// pressure/{cpu,memory,io}, vmstat; one of them, or several with heads that name them
// ("==> /proc/meminfo <==", as head and tail write, or any line that holds the path).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>

#include "host_evidence.h"
#include "stepslack/base/text.h"
#include "stepslack/trace/host_log.h"

namespace stepslack::trace {
namespace {

// From here on a value is a finding. PSI: percent of the last 10 s in which some task
// (for memory: all of them) waited for the resource.
constexpr double kCpuWaitPercent = 20;
constexpr double kIoWaitPercent = 20;
constexpr double kMemoryStallPercent = 1;
constexpr double kMemoryLeft = 0.05;  // of the host's memory
constexpr double kSwapUsed = 0.10;    // of the host's memory

enum class LineForm { kNone, kHead, kPressure, kLoad, kMemory, kCounter };

// "some avg10=1.23 avg60=... avg300=... total=..." to its kind and numbers.
bool ReadPressure(std::string_view line, std::string_view& kind,
                  std::map<std::string, double, std::less<>>& numbers) {
  kind = line.substr(0, 4);
  if (kind != "some" && kind != "full") return false;
  for (const std::string_view part : base::Split(line.substr(4), ' ')) {
    const size_t equals = part.find('=');
    if (equals == std::string_view::npos) continue;
    const auto value = base::ParseDouble(part.substr(equals + 1));
    if (value) numbers[std::string(part.substr(0, equals).substr(0, 16))] = *value;
  }
  return numbers.contains("avg10") && numbers.contains("total");
}

// "0.52 0.58 0.59 1/1024 12345".
bool ReadLoad(std::string_view line, std::array<double, 5>& numbers) {
  const auto parts = base::Split(line, ' ');
  if (parts.size() != 5) return false;
  for (size_t i = 0; i < 3; ++i) {
    const auto value = base::ParseDouble(parts[i]);
    if (!value || *value < 0 || parts[i].find('.') == std::string_view::npos) {
      return false;
    }
    numbers[i] = *value;
  }
  const size_t slash = parts[3].find('/');
  if (slash == std::string_view::npos) return false;
  const auto running = base::ParseInt(parts[3].substr(0, slash));
  const auto tasks = base::ParseInt(parts[3].substr(slash + 1));
  if (!running || !tasks || !base::ParseInt(parts[4])) return false;
  numbers[3] = static_cast<double>(*running);
  numbers[4] = static_cast<double>(*tasks);
  return true;
}

// "MemTotal:       1056 kB" to name and bytes.
std::optional<double> ReadMemory(std::string_view line, std::string_view& name) {
  std::string_view value;
  if (!SplitField(line, name, value) || !value.ends_with(" kB")) return std::nullopt;
  const auto kib = base::ParseInt(base::Trim(value.substr(0, value.size() - 3)));
  if (!kib || *kib < 0 || name.find(' ') != std::string_view::npos) return std::nullopt;
  return 1024.0 * static_cast<double>(*kib);
}

// "oom_kill 0".
std::optional<double> ReadCounter(std::string_view line, std::string_view& name) {
  const size_t space = line.find(' ');
  if (space == std::string_view::npos || space == 0) return std::nullopt;
  name = line.substr(0, space);
  const bool word = std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
  const auto value = base::ParseInt(line.substr(space + 1));
  if (!word || !value) return std::nullopt;
  return static_cast<double>(*value);
}

LineForm FormOf(std::string_view line) {
  std::string_view name;
  std::map<std::string, double, std::less<>> numbers;
  std::array<double, 5> load{};
  if (line.find("/proc/") != std::string_view::npos) return LineForm::kHead;
  if (ReadPressure(line, name, numbers)) return LineForm::kPressure;
  if (ReadLoad(line, load)) return LineForm::kLoad;
  if (ReadMemory(line, name)) return LineForm::kMemory;
  if (ReadCounter(line, name)) return LineForm::kCounter;
  return LineForm::kNone;
}

class ProcReader {
 public:
  explicit ProcReader(HostReport& report) : report_(report), collector_(report) {}
  void Run(std::string_view text);

 private:
  void AddPressure(const EvidenceLine& line);
  void AddLoad(const EvidenceLine& line);
  void JudgeMemory();
  void JudgeCounters();

  HostReport& report_;
  EvidenceCollector collector_;
  std::string_view resource_ = "unknown";
  std::map<std::string, double, std::less<>> memory_;
  std::map<std::string, EvidenceLine, std::less<>> lines_;
  std::map<std::string, double, std::less<>> counters_;
};

void ProcReader::Run(std::string_view text) {
  LineReader reader(text);
  std::string_view line;
  while (reader.Next(line)) {
    const EvidenceLine here{reader.number(), line};
    std::string_view name;
    switch (FormOf(line)) {
      case LineForm::kHead:
        resource_ = "unknown";
        for (const std::string_view known : {"cpu", "memory", "io", "irq"}) {
          if (line.find(fmt::format("/proc/pressure/{}", known)) !=
              std::string_view::npos) {
            resource_ = known;
          }
        }
        break;
      case LineForm::kPressure:
        AddPressure(here);
        break;
      case LineForm::kLoad:
        AddLoad(here);
        break;
      case LineForm::kMemory: {
        const double bytes = ReadMemory(line, name).value_or(0);
        if (memory_.size() < 200) memory_[std::string(name)] = bytes;
        if (name == "MemAvailable" || name == "SwapFree") {
          lines_[std::string(name)] = here;
        }
        break;
      }
      case LineForm::kCounter: {
        const double value = ReadCounter(line, name).value_or(0);
        if (counters_.size() < 1000) counters_[std::string(name)] = value;
        if (name == "oom_kill") lines_["oom_kill"] = here;
        break;
      }
      case LineForm::kNone:
        if (!base::Trim(line).empty()) {
          report_.stats.Add("line of unexpected form", Severity::kInfo,
                            static_cast<int64_t>(reader.offset()));
        }
        break;
    }
  }
  report_.lines = reader.number();
  JudgeMemory();
  JudgeCounters();
}

void ProcReader::AddPressure(const EvidenceLine& line) {
  std::string_view kind;
  std::map<std::string, double, std::less<>> numbers;
  if (!ReadPressure(line.text, kind, numbers)) return;
  const bool full = kind == "full";
  const double recent = numbers["avg10"];
  const bool cpu = resource_ == "cpu" && !full && recent >= kCpuWaitPercent;
  const bool io = resource_ == "io" && !full && recent >= kIoWaitPercent;
  const bool memory = resource_ == "memory" && full && recent >= kMemoryStallPercent;
  HostEvidence& record = collector_.Add(
      {.kind = fmt::format("pressure_{}", resource_),
       .code = kind,
       .severity = cpu || io || memory ? Severity::kWarning : Severity::kInfo,
       .layer = io ? "data" : "runtime",
       .cause = cpu      ? "R05"
                : io     ? "D02"
                : memory ? "R13"
                         : "",
       .meaning = full ? "Share of time in which all tasks waited for it at once"
                       : "Share of time in which at least one task waited for it"},
      "host", line);
  record.values = {{"avg10_percent", recent},
                   {"avg60_percent", numbers["avg60"]},
                   {"avg300_percent", numbers["avg300"]},
                   {"total_us", numbers["total"]}};
}

void ProcReader::AddLoad(const EvidenceLine& line) {
  std::array<double, 5> numbers{};
  if (!ReadLoad(line.text, numbers)) return;
  collector_
      .Add({.kind = "load",
            .layer = "runtime",
            .meaning = "Tasks that ran or waited for a CPU or a disk, on average"},
           "host", line)
      .values = {{"load_1_min", numbers[0]},
                 {"load_5_min", numbers[1]},
                 {"load_15_min", numbers[2]},
                 {"running_tasks", numbers[3]},
                 {"tasks", numbers[4]}};
}

void ProcReader::JudgeMemory() {
  const auto bytes = [this](std::string_view name) {
    const auto found = memory_.find(name);
    return found == memory_.end() ? -1.0 : found->second;
  };
  const double total = bytes("MemTotal");
  const double available = bytes("MemAvailable");
  if (total <= 0 || available < 0) return;
  const double swap = bytes("SwapTotal") - bytes("SwapFree");
  const bool short_of_it = available < kMemoryLeft * total;
  const bool swapped = bytes("SwapFree") >= 0 && swap > kSwapUsed * total;
  const std::map<std::string, double, std::less<>> values = {
      {"total_bytes", total},
      {"available_bytes", available},
      {"swap_used_bytes", std::max(swap, 0.0)}};
  collector_
      .Add({.kind = "memory",
            .code = short_of_it ? "short" : "",
            .severity = short_of_it ? Severity::kWarning : Severity::kInfo,
            .layer = "runtime",
            .cause = short_of_it ? "H10" : "",
            .meaning = short_of_it
                           ? "Hardly any memory is left; the kernel may end programs"
                           : "Memory of the host"},
           "host", lines_["MemAvailable"])
      .values = values;
  if (!swapped) return;
  collector_
      .Add({.kind = "memory",
            .code = "swapped",
            .severity = Severity::kWarning,
            .layer = "runtime",
            .cause = "R13",
            .meaning = "Much memory is on disk; programs wait when they touch it"},
           "host", lines_["SwapFree"])
      .values = values;
}

void ProcReader::JudgeCounters() {
  const auto kills = counters_.find("oom_kill");
  if (kills == counters_.end() || kills->second <= 0) return;
  collector_
      .Add({.kind = "out_of_memory",
            .code = "since_boot",
            .severity = Severity::kWarning,
            .layer = "runtime",
            .cause = "H10",
            .meaning =
                "The kernel has ended programs for memory since the host started"},
           "host", lines_["oom_kill"])
      .values["programs"] = kills->second;
}

}  // namespace

bool LooksLikeProcSnapshot(std::string_view text) {
  LineReader reader(text);
  std::string_view line;
  int64_t filled = 0;
  int64_t known = 0;
  bool certain = false;
  while (reader.number() < 400 && reader.Next(line)) {
    if (base::Trim(line).empty()) continue;
    ++filled;
    const LineForm form = FormOf(line);
    if (form == LineForm::kNone) continue;
    ++known;
    certain = certain || form == LineForm::kPressure || form == LineForm::kLoad ||
              line.starts_with("MemTotal:") || line.starts_with("nr_free_pages ");
  }
  return certain && 10 * known >= 9 * filled;
}

HostReport ParseProcSnapshot(std::string_view text) {
  HostReport report;
  report.kind = HostLogKind::kProcSnapshot;
  ProcReader(report).Run(text);
  return report;
}

}  // namespace stepslack::trace

#include "step_counters.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <charconv>
#include <string>

#include "process_usage.h"
#include "stepslack/base/file.h"
#include "stepslack/base/text.h"

namespace stepslack::train {
namespace {

int OpenForReading(const std::string& path) {
  return ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
}

// cpu.stat of this process's control group, version 2 or 1.
int OpenCpuStat() {
  const std::string groups = base::ReadFile("/proc/self/cgroup").value_or("");
  for (const std::string_view line : base::Split(groups, '\n')) {
    const auto parts = base::Split(line, ':');
    if (parts.size() < 3) continue;
    const bool counts = parts[1].empty() || parts[1] == "cpu" ||
                        parts[1] == "cpu,cpuacct" || parts[1] == "cpuacct,cpu";
    if (!counts) continue;
    const std::string root = "/sys/fs/cgroup/" + std::string(parts[1]);
    // Inside a container the group's path may be one that only its host has.
    for (const std::string& folder : {root + std::string(parts[2]), root}) {
      const int file = OpenForReading(folder + "/cpu.stat");
      if (file < 0) continue;
      // The root group of version 2 tells usage only.
      char text[1024];
      const ssize_t size = ::pread(file, text, sizeof text, 0);
      CounterReading found;
      if (size > 0) ReadThrottling({text, static_cast<size_t>(size)}, found);
      if (found.throttled_ns >= 0) return file;
      ::close(file);
    }
  }
  return -1;
}

// The number after `at`, past blanks; moves `at` behind it. -1: there is none.
int64_t TakeNumber(std::string_view text, size_t& at) {
  while (at < text.size() && text[at] == ' ') ++at;
  int64_t value = -1;
  const auto end = std::from_chars(text.data() + at, text.data() + text.size(), value);
  if (end.ec != std::errc()) return -1;
  at = static_cast<size_t>(end.ptr - text.data());
  return value;
}

// The number behind a word that begins a line; -1: there is none.
int64_t NumberOf(std::string_view text, std::string_view word) {
  size_t at = text.find(word);
  while (at != std::string_view::npos && at > 0 && text[at - 1] != '\n') {
    at = text.find(word, at + 1);
  }
  if (at == std::string_view::npos) return -1;
  at += word.size();
  if (at >= text.size() || text[at] != ' ') return -1;
  return TakeNumber(text, at);
}

class SmallText {
 public:
  explicit SmallText(int file) {
    if (file < 0) return;
    const ssize_t size = ::pread(file, text_, sizeof text_, 0);
    size_ = size > 0 ? static_cast<size_t>(size) : 0;
  }
  std::string_view view() const { return {text_, size_}; }

 private:
  char text_[1024];
  size_t size_ = 0;
};

int64_t Since(int64_t before, int64_t after) {
  return before < 0 || after < 0 ? -1 : after - before;
}

}  // namespace

int64_t RunQueueNs(std::string_view schedstat) {
  size_t at = 0;
  if (TakeNumber(schedstat, at) < 0) return -1;
  return TakeNumber(schedstat, at);
}

void ReadThrottling(std::string_view cpu_stat, CounterReading& reading) {
  const int64_t microseconds = NumberOf(cpu_stat, "throttled_usec");
  reading.throttled_ns =
      microseconds >= 0 ? microseconds * 1000 : NumberOf(cpu_stat, "throttled_time");
  reading.throttle_count = NumberOf(cpu_stat, "nr_throttled");
}

StepCounters::StepCounters()
    : schedstat_(OpenForReading("/proc/thread-self/schedstat")),
      statm_(OpenForReading("/proc/self/statm")),
      cpu_stat_(OpenCpuStat()) {}

StepCounters::~StepCounters() {
  for (const int file : {schedstat_, statm_, cpu_stat_}) {
    if (file >= 0) ::close(file);
  }
}

CounterReading StepCounters::Read() const {
  CounterReading reading;
  reading.cpu_seconds = ProcessCpuSeconds();
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  reading.minor_faults = usage.ru_minflt;
  reading.major_faults = usage.ru_majflt;
  reading.voluntary_switches = usage.ru_nvcsw;
  reading.involuntary_switches = usage.ru_nivcsw;
  reading.run_queue_ns = RunQueueNs(SmallText(schedstat_).view());
  if (cpu_stat_ >= 0) ReadThrottling(SmallText(cpu_stat_).view(), reading);
  // proc(5): statm counts pages; the second number is what is resident.
  const SmallText statm(statm_);
  size_t at = 0;
  TakeNumber(statm.view(), at);
  const int64_t pages = TakeNumber(statm.view(), at);
  if (pages >= 0) reading.resident_bytes = pages * ::sysconf(_SC_PAGESIZE);
  return reading;
}

void FillCounters(const CounterReading& before, const CounterReading& after,
                  record::StepRecord& record) {
  record.cpu_seconds = after.cpu_seconds - before.cpu_seconds;
  record.minor_faults = after.minor_faults - before.minor_faults;
  record.major_faults = after.major_faults - before.major_faults;
  record.voluntary_switches = after.voluntary_switches - before.voluntary_switches;
  record.involuntary_switches =
      after.involuntary_switches - before.involuntary_switches;
  record.run_queue_ns = Since(before.run_queue_ns, after.run_queue_ns);
  record.throttled_ns = Since(before.throttled_ns, after.throttled_ns);
  record.throttle_count = Since(before.throttle_count, after.throttle_count);
  record.resident_bytes = after.resident_bytes;
}

}  // namespace stepslack::train

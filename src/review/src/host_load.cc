#include "host_load.h"

#include "stepslack/base/file.h"
#include "stepslack/base/text.h"

namespace stepslack::review {
namespace {

constexpr int64_t kLeastTicks = 1000;
// Fields of the "cpu" line (proc(5)): user nice system idle iowait irq softirq steal,
// then guest times, which user and nice already contain.
constexpr int kStealField = 7;

}  // namespace

CpuTimes ParseCpuTimes(std::string_view proc_stat) {
  const std::string_view line = base::Split(proc_stat, '\n').front();
  CpuTimes times;
  if (!line.starts_with("cpu ")) return times;
  int field = 0;
  for (const std::string_view word : base::Split(base::Trim(line.substr(4)), ' ')) {
    const auto ticks = base::ParseInt(word);
    if (!ticks || field > kStealField) break;
    times.total += *ticks;
    if (field == kStealField) times.steal = *ticks;
    ++field;
  }
  return times;
}

CpuTimes ReadCpuTimes() {
  return ParseCpuTimes(base::ReadFile("/proc/stat").value_or(""));
}

std::optional<base::Estimate> StealShare(const CpuTimes& before,
                                         const CpuTimes& after) {
  const int64_t total = after.total - before.total;
  if (total < kLeastTicks) return std::nullopt;
  return base::Exact(
      static_cast<double>(after.steal - before.steal) / static_cast<double>(total), "1",
      total, "ticks", "steal over all CPU time in /proc/stat while ranks were running");
}

}  // namespace stepslack::review

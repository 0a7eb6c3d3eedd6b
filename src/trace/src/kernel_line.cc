#include "kernel_line.h"

#include <algorithm>
#include <array>

#include "stepslack/base/text.h"

namespace stepslack::trace {
namespace {

using Form = KernelLine::Form;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Takes the longest run of `allowed` from the front; its size.
size_t TakeRun(std::string_view& text, std::string_view allowed) {
  const size_t size = std::min(text.find_first_not_of(allowed), text.size());
  text.remove_prefix(size);
  return size;
}

bool Take(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

constexpr std::string_view kDigits = "0123456789";

// "6,3964,206764307,-;body" of /dev/kmsg.
bool TakeKmsg(std::string_view& text) {
  std::string_view rest = text;
  for (int field = 0; field < 3; ++field) {
    if (TakeRun(rest, kDigits) == 0 || !Take(rest, ",")) return false;
  }
  const size_t end = rest.find(';');
  if (end == std::string_view::npos || end > 40) return false;
  text = rest.substr(end + 1);
  return true;
}

// "[   12.345678] " or "[Sun Feb 23 16:24:18 2025] ", and "[    T0] " of a caller.
bool TakeBracket(std::string_view& text) {
  std::string_view rest = text;
  if (!Take(rest, "[")) return false;
  TakeRun(rest, " ");
  std::string_view uptime = rest;
  bool good = TakeRun(uptime, kDigits) > 0 && Take(uptime, ".") &&
              TakeRun(uptime, kDigits) >= 3 && Take(uptime, "]");
  if (good) {
    rest = uptime;
  } else {
    constexpr std::array<std::string_view, 7> kDays = {"Mon ", "Tue ", "Wed ", "Thu ",
                                                       "Fri ", "Sat ", "Sun "};
    const size_t end = rest.find(']');
    good = end != std::string_view::npos && end >= 23 && end <= 26 &&
           std::ranges::any_of(
               kDays, [rest](std::string_view day) { return rest.starts_with(day); }) &&
           std::ranges::count(rest.substr(0, end), ':') == 2 && IsDigit(rest[end - 1]);
    if (good) rest.remove_prefix(end + 1);
  }
  if (!good) return false;
  std::string_view caller = rest;
  if (Take(caller, "[")) {
    TakeRun(caller, " ");
    if ((Take(caller, "T") || Take(caller, "C")) && TakeRun(caller, kDigits) > 0 &&
        Take(caller, "]")) {
      rest = caller;
    }
  }
  Take(rest, " ");
  text = rest;
  return true;
}

// "2024-11-15T12:02:03,470068+00:00 " of dmesg, or with a point of syslog.
bool TakeIso(std::string_view& text, char fraction) {
  constexpr std::string_view kShape = "0000-00-00T00:00:00";
  if (text.size() < kShape.size() + 2) return false;
  for (size_t i = 0; i < kShape.size(); ++i) {
    const bool fits = kShape[i] == '0' ? IsDigit(text[i]) : text[i] == kShape[i];
    if (!fits) return false;
  }
  std::string_view rest = text.substr(kShape.size());
  if (rest[0] != fraction) return false;
  rest.remove_prefix(1);
  if (TakeRun(rest, kDigits) < 3) return false;
  if (!Take(rest, "Z")) {
    if (!Take(rest, "+") && !Take(rest, "-")) return false;
    if (TakeRun(rest, "0123456789:") < 4) return false;
  }
  if (!Take(rest, " ")) return false;
  text = rest;
  return true;
}

// "Jan  2 04:05:06 " of syslog.
bool TakeSyslogTime(std::string_view& text) {
  constexpr std::string_view kMonths = "JanFebMarAprMayJunJulAugSepOctNovDec";
  if (text.size() < 17) return false;
  const size_t month = kMonths.find(text.substr(0, 3));
  const bool good = month != std::string_view::npos && month % 3 == 0 &&
                    text[3] == ' ' && (IsDigit(text[4]) || text[4] == ' ') &&
                    IsDigit(text[5]) && text[6] == ' ' && IsDigit(text[7]) &&
                    text[9] == ':' && text[12] == ':' && text[15] == ' ';
  if (good) text.remove_prefix(16);
  return good;
}

// "kern  :warn  : " of dmesg --decode; `kernel` tells its facility from others.
bool TakeFacility(std::string_view& text, bool& kernel) {
  constexpr std::array<std::string_view, 8> kLevels = {
      "emerg", "alert", "crit", "err", "warn", "notice", "info", "debug"};
  std::string_view rest = text;
  const size_t colon = rest.substr(0, 12).find(':');
  if (colon == std::string_view::npos) return false;
  const std::string_view facility = base::Trim(rest.substr(0, colon));
  rest.remove_prefix(colon + 1);
  const size_t second = rest.substr(0, 10).find(':');
  if (second == std::string_view::npos || facility.empty()) return false;
  const std::string_view level = base::Trim(rest.substr(0, second));
  if (std::ranges::find(kLevels, level) == kLevels.end()) return false;
  rest.remove_prefix(second + 1);
  Take(rest, " ");
  kernel = facility == "kern";
  text = rest;
  return true;
}

// "host kernel: body" after a time stamp of syslog.
KernelLine SplitSyslog(std::string_view rest) {
  const size_t space = rest.find(' ');
  if (space == std::string_view::npos) return {};
  rest.remove_prefix(space + 1);
  if (!Take(rest, "kernel: ")) {
    // "program[12]: text" is what other programs write.
    const size_t colon = rest.find(": ");
    const bool program = colon != std::string_view::npos && colon < 64 &&
                         rest.substr(0, colon).find(' ') == std::string_view::npos;
    return program ? KernelLine{Form::kOtherProgram, rest} : KernelLine{};
  }
  TakeBracket(rest);
  return {Form::kSure, rest};
}

}  // namespace

KernelLine SplitKernelLine(std::string_view line) {
  std::string_view rest = line;
  if (rest.starts_with(" SUBSYSTEM=") || rest.starts_with(" DEVICE=")) {
    return {Form::kContinued, rest};
  }
  bool kernel = true;
  if (TakeKmsg(rest)) return {Form::kSure, rest};
  if (TakeFacility(rest, kernel)) {
    if (!TakeBracket(rest)) TakeIso(rest, ',');
    return {kernel ? Form::kSure : Form::kOtherProgram, rest};
  }
  if (Take(rest, "<")) {
    if (TakeRun(rest, kDigits) > 0 && Take(rest, ">") && TakeBracket(rest)) {
      return {Form::kSure, rest};
    }
    return {Form::kNone, line};
  }
  if (TakeBracket(rest) || TakeIso(rest, ',')) return {Form::kWeak, rest};
  if (TakeSyslogTime(rest) || TakeIso(rest, '.')) {
    const KernelLine split = SplitSyslog(rest);
    if (split.form != Form::kNone) return split;
  }
  return {Form::kNone, line};
}

bool SoundsLikeKernel(std::string_view body) {
  constexpr auto kBeginnings =
      std::to_array<std::string_view>({"NVRM:",         "nvidia",
                                       "mlx5_core",     "mlx4",
                                       "infiniband",    "IPv6:",
                                       "Linux version", "Command line:",
                                       "Kernel",        "BIOS-",
                                       "ACPI",          "pci ",
                                       "pcieport",      "PCI:",
                                       "usb ",          "audit:",
                                       "perf:",         "clocksource",
                                       "EXT4-fs",       "XFS (",
                                       "nvme",          "scsi",
                                       "mce:",          "EDAC",
                                       "Out of memory", "oom",
                                       "Memory cgroup", "CPU:",
                                       "Call Trace:",   "RIP:",
                                       "INFO: task",    "NET:",
                                       "TCP:",          "cgroup",
                                       "traps:",        "Hardware name:",
                                       "BUG:",          "rcu:",
                                       "watchdog:",     "amdgpu",
                                       "nfs:",          "Lustre",
                                       "DMAR:",         "NETDEV WATCHDOG",
                                       "Buffer I/O",    "blk_update_request",
                                       "I/O error",     "x86/",
                                       "smpboot",       "tsc:"});
  return std::ranges::any_of(kBeginnings,
                             [body](std::string_view beginning) {
                               return body.starts_with(beginning);
                             }) ||
         body.find("]: segfault at ") != std::string_view::npos ||
         body.find(" invoked oom-killer:") != std::string_view::npos;
}

}  // namespace stepslack::trace

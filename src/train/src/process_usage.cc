#include "process_usage.h"

#include <unistd.h>

#include <ctime>
#include <fstream>
#include <sstream>
#include <string>

namespace stepslack::train {
namespace {

double ReadClock(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace

double ProcessCpuSeconds() { return ReadClock(CLOCK_PROCESS_CPUTIME_ID); }

double SecondsSinceProcessStart() {
  // proc(5): field 22 is the start time after boot in clock ticks; the name in field 2
  // may hold blanks, so count from its closing parenthesis.
  std::ifstream file("/proc/self/stat");
  std::string text;
  std::getline(file, text);
  const size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream rest(text.substr(name_end + 1));
  std::string field;
  for (int number = 3; number <= 22; ++number) rest >> field;
  const double start =
      std::strtod(field.c_str(), nullptr) / static_cast<double>(::sysconf(_SC_CLK_TCK));
  return ReadClock(CLOCK_BOOTTIME) - start;
}

}  // namespace stepslack::train

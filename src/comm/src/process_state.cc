#include "process_state.h"

#include <signal.h>
#include <sys/types.h>

#include <cerrno>
#include <fstream>
#include <string>

namespace stepslack::comm {

ProcessState StateOf(int64_t pid) {
  if (::kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH) {
    return ProcessState::kEnded;
  }
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  if (!std::getline(stat, text)) return ProcessState::kEnded;
  const size_t name_end = text.rfind(')');
  if (name_end == std::string::npos || name_end + 2 >= text.size()) {
    return ProcessState::kAlive;
  }
  switch (text[name_end + 2]) {
    case 'Z':
    case 'X':
      return ProcessState::kEnded;
    case 'T':
    case 't':
      return ProcessState::kStopped;
    default:
      return ProcessState::kAlive;
  }
}

}  // namespace stepslack::comm

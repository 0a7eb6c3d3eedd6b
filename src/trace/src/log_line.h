// Lines of a log, with what launchers put in front of them taken off.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace stepslack::trace {

struct LogLine {
  std::string_view text;  // without tag, white space at the end and line end
  size_t offset = 0;      // of the line's first byte
};

// Takes the next line from `text` at `position`; false at the end. Tags of mpirun
// ("[1,0]<stdout>:", "[0]<stdout>:") are removed.
bool NextLogLine(std::string_view text, size_t& position, LogLine& line);

// Parts between runs of blanks and tabs.
std::vector<std::string_view> Words(std::string_view text);

}  // namespace stepslack::trace

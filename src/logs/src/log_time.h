// Dates as logs print them, to int64 ns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace stepslack::logs {

struct LogTime {
  int64_t ns = 0;     // since 1970; of a local time as if it were UTC
  bool zone = false;  // the text says the zone
  size_t end = 0;     // byte behind it in the text
};

// The first "2024-03-07 15:27:02,646", "2025-10-17T11:33:02+08:00", "...Z" in `text`.
// Years 1971 to 2042 only (times stay within +-2^61 ns).
std::optional<LogTime> FindTime(std::string_view text);

}  // namespace stepslack::logs

// Decimal text to int64 nanoseconds without a floating-point step.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace stepslack::trace {

// Times are kept within +-2^61 ns (until the year 2043 since 1970), so that sums and
// differences of three of them fit into 64 bits.
constexpr int64_t kTimeLimitNs = int64_t{1} << 61;

// "1623143566756", "1694128201545123.417", "1.5e3", "-2" in microseconds. Digits below
// a nanosecond round half away from zero. No value for other text or beyond the limit.
std::optional<int64_t> MicrosecondsToNs(std::string_view text);

// The same for text in units of 10^digits ns: 9 for seconds, 6 for milliseconds.
std::optional<int64_t> DecimalToNs(std::string_view text, int digits);

}  // namespace stepslack::trace

#include "log_time.h"

#include <chrono>

namespace stepslack::logs {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Reads exactly `digits` digits at `at`; -1 when they are not there.
int Digits(std::string_view text, size_t at, size_t digits) {
  if (text.size() < at + digits) return -1;
  int value = 0;
  for (size_t i = at; i < at + digits; ++i) {
    if (!IsDigit(text[i])) return -1;
    value = value * 10 + (text[i] - '0');
  }
  return value;
}

bool In(int value, int low, int high) { return value >= low && value <= high; }

int64_t ReadFraction(std::string_view text, size_t& at) {
  if (at + 1 >= text.size() || (text[at] != ',' && text[at] != '.') ||
      !IsDigit(text[at + 1])) {
    return 0;
  }
  int64_t unit = kSecond / 10;
  int64_t ns = 0;
  for (++at; at < text.size() && IsDigit(text[at]); ++at, unit /= 10) {
    ns += unit * (text[at] - '0');
  }
  return ns;
}

// "+08:00", "-0530", "Z" at `at`; seconds east of UTC.
std::optional<int64_t> ReadZone(std::string_view text, size_t& at) {
  if (at >= text.size()) return std::nullopt;
  if (text[at] == 'Z') {
    ++at;
    return 0;
  }
  if (text[at] != '+' && text[at] != '-') return std::nullopt;
  const int hours = Digits(text, at + 1, 2);
  const size_t colon = text.substr(at).size() > 3 && text[at + 3] == ':' ? 1 : 0;
  const int minutes = Digits(text, at + 3 + colon, 2);
  if (!In(hours, 0, 14) || !In(minutes, 0, 59)) return std::nullopt;
  const int64_t east = (text[at] == '-' ? -1 : 1) * (hours * 3600 + minutes * 60);
  at += 5 + colon;
  return east;
}

std::optional<LogTime> ReadTime(std::string_view text, size_t at) {
  const int year = Digits(text, at, 4);
  if (!In(year, 1971, 2042) || text.size() < at + 19) return std::nullopt;
  if (text[at + 4] != '-' || text[at + 7] != '-' || text[at + 13] != ':' ||
      text[at + 16] != ':' || (text[at + 10] != ' ' && text[at + 10] != 'T')) {
    return std::nullopt;
  }
  const int hour = Digits(text, at + 11, 2);
  const int minute = Digits(text, at + 14, 2);
  const int second = Digits(text, at + 17, 2);
  const int month = Digits(text, at + 5, 2);
  const int day = Digits(text, at + 8, 2);
  if (!In(hour, 0, 23) || !In(minute, 0, 59) || !In(second, 0, 60) ||
      !In(month, 1, 12) || !In(day, 1, 31)) {
    return std::nullopt;
  }
  const std::chrono::year_month_day date{
      std::chrono::year{year}, std::chrono::month{static_cast<unsigned>(month)},
      std::chrono::day{static_cast<unsigned>(day)}};
  if (!date.ok()) return std::nullopt;
  const int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  LogTime time;
  time.end = at + 19;
  time.ns = (days * 86400 + hour * 3600 + minute * 60 + second) * kSecond;
  time.ns += ReadFraction(text, time.end);
  if (const auto east = ReadZone(text, time.end)) {
    time.zone = true;
    time.ns -= *east * kSecond;
  }
  return time;
}

}  // namespace

std::optional<LogTime> FindTime(std::string_view text) {
  for (size_t at = 0; at + 19 <= text.size(); ++at) {
    if (text[at + 4] != '-' || !IsDigit(text[at])) continue;
    if (const auto time = ReadTime(text, at)) return time;
  }
  return std::nullopt;
}

}  // namespace stepslack::logs

#include "csv_map.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <string>

namespace stepslack::data {
namespace {

using base::ExitCode;
using base::Fail;

std::string Place(std::string_view name, int64_t line) {
  return fmt::format("{}:{}", name, line);
}

// A short printable piece of the text at fault.
std::string Excerpt(std::string_view field) {
  std::string out;
  for (char c : field.substr(0, 20)) out += (c >= 32 && c < 127) ? c : '?';
  return field.size() > 20 ? out + "..." : out;
}

tl::unexpected<base::Error> NotANumber(std::string_view name, int64_t line,
                                       int64_t column, std::string_view field) {
  return Fail("DATA-0011", ExitCode::kInput,
              fmt::format("value {} of the row is not a number: \"{}\"", column,
                          Excerpt(field)),
              Place(name, line),
              "export the map as plain numbers, one row per line, without a header");
}

tl::unexpected<base::Error> Ragged(std::string_view name, int64_t line, int64_t found,
                                   int64_t expected) {
  return Fail(
      "DATA-0012", ExitCode::kInput,
      fmt::format("the row has {} values, the rows before it have {}", found, expected),
      Place(name, line), "the file may be cut short: export the map again");
}

tl::unexpected<base::Error> NotFinite(std::string_view name, int64_t line,
                                      int64_t column) {
  return Fail(
      "DATA-0013", ExitCode::kInput,
      fmt::format("value {} of the row is NaN, infinite or out of range", column),
      Place(name, line), "correct the value or leave this map out");
}

bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

char DetectSeparator(std::string_view line) {
  for (char separator : {',', ';', '\t'}) {
    if (line.find(separator) != std::string_view::npos) return separator;
  }
  return ',';
}

class RowParser {
 public:
  RowParser(std::string_view name, double scale, char separator)
      : name_(name), scale_(scale), separator_(separator) {}

  // Appends the values of one row and returns their number.
  base::Result<int64_t> Parse(std::string_view row, int64_t line,
                              std::vector<float>& out) const {
    const char* p = row.data();
    const char* const end = p + row.size();
    int64_t count = 0;
    while (true) {
      const char* const start = SkipBlanks(p, end);
      // from_chars knows no plus sign; "+-1" stays an error.
      const bool plus = end - start > 1 && start[0] == '+' && start[1] != '-';
      double value = 0;
      const auto [rest, code] = std::from_chars(start + (plus ? 1 : 0), end, value);
      if (code == std::errc::invalid_argument) return Bad(line, count, start, end);
      const float scaled = static_cast<float>(value * scale_);
      if (code != std::errc() || !std::isfinite(scaled)) {
        return NotFinite(name_, line, count + 1);
      }
      out.push_back(scaled);
      ++count;
      p = SkipBlanks(rest, end);
      if (p == end) return count;
      if (*p != separator_) return Bad(line, count - 1, start, end);
      ++p;
    }
  }

 private:
  // Blanks around a value, but never the separator itself when that is a tab.
  const char* SkipBlanks(const char* p, const char* end) const {
    while (p != end && IsBlank(*p) && *p != separator_) ++p;
    return p;
  }

  tl::unexpected<base::Error> Bad(int64_t line, int64_t before, const char* start,
                                  const char* end) const {
    std::string_view field(start, static_cast<size_t>(end - start));
    return NotANumber(name_, line, before + 1, field.substr(0, field.find(separator_)));
  }

  std::string_view name_;
  double scale_;
  char separator_;
};

bool IsBlankLine(std::string_view line) {
  for (char c : line) {
    if (!IsBlank(c)) return false;
  }
  return true;
}

std::string_view NextLine(std::string_view text, size_t& position) {
  size_t end = text.find('\n', position);
  if (end == std::string_view::npos) end = text.size();
  std::string_view line = text.substr(position, end - position);
  position = end + 1;
  while (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line;
}

}  // namespace

base::Result<CsvMap> ParseCsvMap(std::string_view text, std::string_view name,
                                 double scale) {
  if (text.substr(0, 3) == "\xEF\xBB\xBF") text.remove_prefix(3);
  const RowParser parser(name, scale, DetectSeparator(text.substr(0, text.find('\n'))));
  CsvMap map;
  bool blank_seen = false;
  int64_t line_number = 0;
  for (size_t position = 0; position < text.size();) {
    const std::string_view line = NextLine(text, position);
    ++line_number;
    if (IsBlankLine(line)) {
      blank_seen = true;
      continue;
    }
    if (blank_seen && map.height > 0)
      return Ragged(name, line_number - 1, 0, map.width);
    SS_TRY(const int64_t count, parser.Parse(line, line_number, map.values));
    if (map.height == 0) {
      map.width = count;
      // Rows of one map have nearly equal lengths: one allocation is enough.
      map.values.reserve(static_cast<size_t>(count) * (text.size() / line.size() + 1));
    } else if (count != map.width) {
      return Ragged(name, line_number, count, map.width);
    }
    ++map.height;
  }
  if (map.height == 0) {
    return Fail("DATA-0010", ExitCode::kInput, "the file holds no numbers",
                std::string(name), "export the map again");
  }
  return map;
}

}  // namespace stepslack::data

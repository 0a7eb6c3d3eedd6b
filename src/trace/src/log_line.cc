#include "log_line.h"

namespace stepslack::trace {
namespace {

std::string_view WithoutTag(std::string_view line) {
  if (!line.starts_with('[')) return line;
  for (const std::string_view stream : {"]<stdout>:", "]<stderr>:"}) {
    const size_t found = line.substr(0, 64).find(stream);
    if (found != std::string_view::npos) return line.substr(found + stream.size());
  }
  return line;
}

bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

}  // namespace

bool NextLogLine(std::string_view text, size_t& position, LogLine& line) {
  if (position >= text.size()) return false;
  const size_t end = text.find('\n', position);
  const size_t length = end == std::string_view::npos ? text.size() : end;
  line.offset = position;
  line.text = WithoutTag(text.substr(position, length - position));
  while (!line.text.empty() && IsBlank(line.text.back())) line.text.remove_suffix(1);
  position = end == std::string_view::npos ? text.size() : end + 1;
  return true;
}

std::vector<std::string_view> Words(std::string_view text) {
  std::vector<std::string_view> words;
  size_t at = 0;
  while (at < text.size()) {
    while (at < text.size() && IsBlank(text[at])) ++at;
    const size_t from = at;
    while (at < text.size() && !IsBlank(text[at])) ++at;
    if (at > from) words.push_back(text.substr(from, at - from));
  }
  return words;
}

}  // namespace stepslack::trace

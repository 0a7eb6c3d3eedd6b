#include "stepslack/base/utf8.h"

namespace stepslack::base {

CodePoint DecodeUtf8(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t first = byte(at);
  if (first < 0x80) return {.value = first, .bytes = 1, .valid = true};
  const size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || at + length > text.size()) return {};
  uint32_t value = first & (0xFFu >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xC0) != 0x80) return {};
    value = value << 6 | (byte(at + i) & 0x3Fu);
  }
  const bool overlong =
      (length == 3 && value < 0x800) || (length == 4 && value < 0x10000);
  const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
  if (overlong || surrogate || value > 0x10FFFF) return {};
  return {.value = value, .bytes = length, .valid = true};
}

bool IsControl(uint32_t value) {
  if (value == '\t' || value == '\n' || value == '\r') return false;
  return value < 0x20 || (value >= 0x7F && value < 0xA0) ||
         (value >= 0x202A && value <= 0x202E) || (value >= 0x2066 && value <= 0x2069);
}

size_t Columns(std::string_view text) {
  size_t columns = 0;
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = DecodeUtf8(text, at);
    const bool wide = (point.value >= 0x1100 && point.value <= 0x115F) ||
                      (point.value >= 0x2E80 && point.value <= 0xA4CF) ||
                      (point.value >= 0xAC00 && point.value <= 0xD7A3) ||
                      (point.value >= 0xF900 && point.value <= 0xFAFF) ||
                      (point.value >= 0xFF00 && point.value <= 0xFF60) ||
                      point.value >= 0x1F300;
    columns += wide ? 2 : 1;
    at += point.bytes;
  }
  return columns;
}

std::string ValidUtf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = DecodeUtf8(text, at);
    out +=
        point.valid ? text.substr(at, point.bytes) : std::string_view("\xEF\xBF\xBD");
    at += point.bytes;
  }
  return out;
}

std::string OneLine(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = DecodeUtf8(text, at);
    if (point.valid &&
        (point.value == '\n' || point.value == '\r' || point.value == '\t')) {
      out += ' ';
    } else if (!point.valid || IsControl(point.value)) {
      out += "\xEF\xBF\xBD";
    } else {
      out += text.substr(at, point.bytes);
    }
    at += point.bytes;
  }
  return out;
}

}  // namespace stepslack::base

#include "json_scanner.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "stepslack/base/utf8.h"

namespace stepslack::trace {
namespace {

constexpr int kMaxDepth = 100;

bool IsSpace(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

bool IsTokenByte(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         c == '+' || c == '-' || c == '.';
}

// Index of the first quote or backslash at or after `at`; size() when there is none.
size_t FindStringStop(std::string_view text, size_t at) {
#ifdef __SSE2__
  const __m128i quote = _mm_set1_epi8('"');
  const __m128i backslash = _mm_set1_epi8('\\');
  for (; at + 16 <= text.size(); at += 16) {
    const __m128i block =
        _mm_loadu_si128(reinterpret_cast<const __m128i*>(text.data() + at));
    const int stops = _mm_movemask_epi8(
        _mm_or_si128(_mm_cmpeq_epi8(block, quote), _mm_cmpeq_epi8(block, backslash)));
    if (stops != 0) {
      return at + static_cast<size_t>(std::countr_zero(static_cast<unsigned>(stops)));
    }
  }
#endif
  while (at < text.size() && text[at] != '"' && text[at] != '\\') ++at;
  return at;
}

void AppendUtf8(std::string& out, uint32_t code) {
  const auto byte = [&out](uint32_t value) { out.push_back(static_cast<char>(value)); };
  if (code < 0x80) {
    byte(code);
  } else if (code < 0x800) {
    byte(0xC0 | (code >> 6));
    byte(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    byte(0xE0 | (code >> 12));
    byte(0x80 | ((code >> 6) & 0x3F));
    byte(0x80 | (code & 0x3F));
  } else {
    byte(0xF0 | (code >> 18));
    byte(0x80 | ((code >> 12) & 0x3F));
    byte(0x80 | ((code >> 6) & 0x3F));
    byte(0x80 | (code & 0x3F));
  }
}

std::optional<uint32_t> ReadHex4(std::string_view text, size_t at) {
  if (at + 4 > text.size()) return std::nullopt;
  uint32_t value = 0;
  for (size_t i = at; i < at + 4; ++i) {
    const char c = text[i];
    uint32_t digit = 0;
    if (c >= '0' && c <= '9') {
      digit = static_cast<uint32_t>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      digit = static_cast<uint32_t>(c - 'a') + 10;
    } else if (c >= 'A' && c <= 'F') {
      digit = static_cast<uint32_t>(c - 'A') + 10;
    } else {
      return std::nullopt;
    }
    value = value * 16 + digit;
  }
  return value;
}

// Decodes \uXXXX (with its low surrogate) at `at`, the index of 'u'. Returns the index
// of the last byte used, or `at` - 1 when it is no such escape.
size_t DecodeUnicodeEscape(std::string_view text, size_t at, std::string& out) {
  const std::optional<uint32_t> first = ReadHex4(text, at + 1);
  if (!first) return at - 1;
  if (*first >= 0xD800 && *first < 0xDC00 && at + 6 < text.size() &&
      text[at + 5] == '\\' && text[at + 6] == 'u') {
    const std::optional<uint32_t> second = ReadHex4(text, at + 7);
    if (second && *second >= 0xDC00 && *second < 0xE000) {
      AppendUtf8(out, 0x10000 + ((*first - 0xD800) << 10) + (*second - 0xDC00));
      return at + 10;
    }
  }
  AppendUtf8(out, *first >= 0xD800 && *first < 0xE000 ? 0xFFFD : *first);
  return at + 4;
}

// Appends the meaning of the escape whose letter is at `at`; returns the index of its
// last byte.
size_t DecodeEscape(std::string_view text, size_t at, std::string& out) {
  switch (text[at]) {
    case 'n':
      out.push_back('\n');
      return at;
    case 't':
      out.push_back('\t');
      return at;
    case 'r':
      out.push_back('\r');
      return at;
    case 'b':
      out.push_back('\b');
      return at;
    case 'f':
      out.push_back('\f');
      return at;
    case '"':
    case '\\':
    case '/':
      out.push_back(text[at]);
      return at;
    case 'u': {
      const size_t last = DecodeUnicodeEscape(text, at, out);
      if (last >= at) return last;
      break;
    }
    default:
      break;
  }
  out.push_back('\\');  // an old writer's lone backslash
  return at - 1;
}

}  // namespace

void JsonScanner::SkipSpace() {
  while (position_ < text_.size() && IsSpace(text_[position_])) ++position_;
}

char JsonScanner::Peek() {
  SkipSpace();
  return AtEnd() ? '\0' : text_[position_];
}

bool JsonScanner::Take(char c) {
  if (Peek() != c || AtEnd()) return false;
  ++position_;
  return true;
}

bool JsonScanner::ReadString(std::string_view& content) {
  if (!Take('"')) return false;
  const size_t from = position_;
  size_t at = FindStringStop(text_, from);
  while (at < text_.size() && text_[at] == '\\') at = FindStringStop(text_, at + 2);
  if (at < text_.size()) {
    content = text_.substr(from, at - from);
    position_ = at + 1;
    return true;
  }
  position_ = text_.size();
  return false;
}

bool JsonScanner::ReadScalar(JsonToken& token) {
  token.is_string = Peek() == '"';
  if (token.is_string) return ReadString(token.text);
  const size_t from = position_;
  while (position_ < text_.size() && IsTokenByte(text_[position_])) ++position_;
  token.text = text_.substr(from, position_ - from);
  // A number that touches the end may be cut short.
  return !token.text.empty() && !AtEnd();
}

bool JsonScanner::SkipValue(int depth) {
  const char c = Peek();
  if (c != '{' && c != '[') {
    JsonToken token;
    return ReadScalar(token);
  }
  if (depth >= kMaxDepth) return false;
  ++position_;
  if (c == '{') return SkipMembers(depth);
  if (Take(']')) return true;
  while (SkipValue(depth + 1)) {
    if (Take(']')) return true;
    if (!Take(',')) return false;
  }
  return false;
}

bool JsonScanner::SkipMembers(int depth) {
  if (Take('}')) return true;
  std::string_view key;
  while (ReadString(key) && Take(':') && SkipValue(depth + 1)) {
    if (Take('}')) return true;
    if (!Take(',')) return false;
  }
  return false;
}

std::string DecodeJsonText(std::string_view content) {
  std::string unescaped;
  unescaped.reserve(content.size());
  for (size_t i = 0; i < content.size(); ++i) {
    if (content[i] == '\\' && i + 1 < content.size()) {
      i = DecodeEscape(content, i + 1, unescaped);
    } else {
      unescaped.push_back(content[i]);
    }
  }
  return base::ValidUtf8(unescaped);
}

}  // namespace stepslack::trace

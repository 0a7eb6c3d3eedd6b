// A forward scanner over JSON text that forgives what old trace writers did (raw
// control bytes in strings, nan and inf) and keeps numbers as text. It never allocates.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace stepslack::trace {

struct JsonToken {
  std::string_view text;  // a string's content as written, or a number, or a literal
  bool is_string = false;
};

class JsonScanner {
 public:
  explicit JsonScanner(std::string_view text, size_t position = 0)
      : text_(text), position_(position) {}

  size_t position() const { return position_; }
  void MoveTo(size_t position) { position_ = position; }
  // The text ended where more was needed, or nothing is left.
  bool AtEnd() const { return position_ >= text_.size(); }

  void SkipSpace();
  // Next character after white space; 0 at the end.
  char Peek();
  // Takes `c` after white space, or leaves the position.
  bool Take(char c);
  // A quoted string; the position stays at the offending byte on failure.
  bool ReadString(std::string_view& content);
  // A string, number or literal; objects and arrays are refused.
  bool ReadScalar(JsonToken& token);
  bool SkipValue() { return SkipValue(0); }

 private:
  bool SkipValue(int depth);
  bool SkipMembers(int depth);
  std::string_view text_;
  size_t position_ = 0;
};

// Resolves escapes (an unknown one is kept as written) and replaces bytes that are not
// UTF-8 by U+FFFD, so that the result can be written as JSON again.
std::string DecodeJsonText(std::string_view content);

}  // namespace stepslack::trace

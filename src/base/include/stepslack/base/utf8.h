// Reading UTF-8 one code point at a time, tolerant of damage.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace stepslack::base {

struct CodePoint {
  uint32_t value = 0;
  size_t bytes = 1;    // at least 1, so that a loop always advances
  bool valid = false;  // false: damaged, overlong or a surrogate
};

// The code point that starts at `at`, which must be inside `text`.
CodePoint DecodeUtf8(std::string_view text, size_t at);

// Characters that neither HTML nor a terminal should see: C0 (but tab and line ends),
// C1, and the controls that reorder text, which can disguise what a line says.
bool IsControl(uint32_t value);

// Terminal columns: one per code point, two for wide East Asian ones.
size_t Columns(std::string_view text);

// The text with every byte that is no part of a code point replaced by U+FFFD.
std::string ValidUtf8(std::string_view text);

// One line that is safe to print: line ends and tabs become spaces, other controls and
// damaged bytes U+FFFD, so that no escape reaches a terminal.
std::string OneLine(std::string_view text);

}  // namespace stepslack::base

// Reading UTF-8 one code point at a time, tolerant of damage.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace stepslack::render {

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

}  // namespace stepslack::render

// Inflates gzip data as far as it goes: a trace whose writer died is still worth
// reading.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace stepslack::trace {

struct Inflated {
  std::string text;
  bool complete = false;   // the stream ended properly, check sum right
  bool too_large = false;  // stopped at max_bytes
};

bool LooksLikeGzip(std::string_view bytes);
// Several members in a row are one text, as gzip defines it.
Inflated InflateGzip(std::string_view bytes, size_t max_bytes);

}  // namespace stepslack::trace

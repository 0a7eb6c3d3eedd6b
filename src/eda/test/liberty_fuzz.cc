#include <cstddef>
#include <cstdint>
#include <string_view>

#include "stepslack/eda/liberty.h"

// Any bytes give cells with areas of at least 0 or an error with an id.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto library = stepslack::eda::ParseLiberty(text, "fuzz.lib");
  if (!library.has_value()) {
    SS_CHECK(library.error().id.starts_with("EDA-010"));
    return 0;
  }
  SS_CHECK(!library->cells.empty());
  for (const auto& [name, cell] : library->cells) SS_CHECK(cell.area >= 0);
  return 0;
}

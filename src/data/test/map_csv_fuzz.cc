#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "csv_map.h"

// Any bytes give a rectangular map of finite values or an error with an id.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto map = stepslack::data::ParseCsvMap(text, "fuzz.csv", 1e6);
  if (!map.has_value()) {
    SS_CHECK(map.error().id.starts_with("DATA-001"));
    return 0;
  }
  SS_CHECK(map->height > 0 && map->width > 0);
  SS_CHECK(map->values.size() == static_cast<size_t>(map->height * map->width));
  for (const float v : map->values) SS_CHECK(std::isfinite(v));
  return 0;
}

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "stepslack/eda/def.h"

// Any bytes give a design of finite size or an error with an id; the same for LEF.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto design = stepslack::eda::ParseDef(text, "fuzz.def");
  if (design.has_value()) {
    SS_CHECK(design->dbu_per_um > 0 && design->low.x < design->high.x);
  } else {
    SS_CHECK(design.error().id.starts_with("EDA-022"));
  }
  const auto lef = stepslack::eda::ParseLef(text, "fuzz.lef");
  SS_CHECK(lef.has_value() || lef.error().id == "EDA-0227");
  return 0;
}

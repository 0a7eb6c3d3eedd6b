// Netlists and router logs of any kind: no crash, and what is accepted is accepted
// again unchanged.
#include <cstdint>
#include <string_view>

#include "pnr_text.h"
#include "stepslack/base/result.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)stepslack::eda::ReadRouterLog(text);
  const auto netlist = stepslack::eda::ReadPlaceableNetlist(text, "BUFX2");
  if (!netlist) return 0;
  const auto again = stepslack::eda::ReadPlaceableNetlist(netlist->blif, "BUFX2");
  SS_CHECK(again.has_value());
  SS_CHECK(again->blif == netlist->blif);
  SS_CHECK(again->constant_pins == 0);
  return 0;
}

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "stepslack/eda/spice_solver.h"

// Any bytes give a netlist whose operating point is finite, or an error with an id.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto netlist = stepslack::eda::ParseSpice(text, "fuzz.sp");
  if (!netlist.has_value()) {
    SS_CHECK(netlist.error().id.starts_with("EDA-020"));
    return 0;
  }
  const auto point = stepslack::eda::SolveNetlist(*netlist);
  if (!point.has_value()) {
    SS_CHECK(!point.error().id.empty());
    return 0;
  }
  for (const double v : point->volt) SS_CHECK(std::isfinite(v));
  return 0;
}

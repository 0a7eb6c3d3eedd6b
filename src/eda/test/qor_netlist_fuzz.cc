#include <cstddef>
#include <cstdint>
#include <string_view>

#include "qor_netlist.h"

// Any bytes give a netlist that is cut or refused with an id.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto blif = stepslack::eda::ParseBlif(text, "fuzz.blif");
  if (!blif.has_value()) {
    SS_CHECK(blif.error().id == "EDA-0103");
    return 0;
  }
  stepslack::eda::LibertyLibrary library;
  library.cells["DFF"].sequential = true;
  library.cells["DFF"].pins["Q"].is_output = true;
  const auto cut = stepslack::eda::CutAtRegisters(*blif, library);
  if (cut.has_value()) {
    SS_CHECK(cut->registers.size() == blif->cells.size());
    (void)stepslack::eda::Reunite(*cut, *blif, library);
  }
  return 0;
}

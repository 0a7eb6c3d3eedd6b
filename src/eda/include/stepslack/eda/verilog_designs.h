// Generators of small designs in Verilog-2001, the objects of the synthesis data set.
// Each family is one generator at several widths: designs of one family are relatives,
// so the family is the leakage unit of everything that is learned from them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace stepslack::eda {

struct VerilogDesign {
  std::string family;  // "crc"
  std::string design;  // "crc_w16_d8", unique
  std::string text;    // one module `top` with the clock `clk`
};

// All designs, families in turn (the first F designs are of F different families), so
// that a prefix covers many families. `seed` draws the state machines; the other
// families do not depend on it. Never fails.
std::vector<VerilogDesign> MakeVerilogDesigns(uint64_t seed);

}  // namespace stepslack::eda

// Netlists between the tools: the synthesiser's BLIF is cut at its registers, the
// mapper sees logic only, and the timer gets flat Verilog of single-bit nets, without
// the concatenated assignments that it fails on.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stepslack/base/result.h"
#include "stepslack/eda/liberty.h"

namespace stepslack::eda {

struct BlifCell {
  std::string type;
  std::vector<std::pair<std::string, std::string>> pins;  // pin, net
};

struct BlifTable {
  std::vector<std::string> nets;  // inputs, then the output
  std::vector<std::string> rows;  // "1-0 1"
};

struct Blif {
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::vector<BlifCell> cells;    // .subckt and .gate
  std::vector<BlifTable> tables;  // .names
};

// The first model of the Berkeley Logic Interchange Format. EDA-0103: a line that is
// not of it, or a latch.
base::Result<Blif> ParseBlif(std::string_view text, std::string_view name);

// A design cut at its registers.
struct CutDesign {
  std::string logic;                // BLIF for the mapper
  std::vector<std::string> inputs;  // of the whole design
  std::vector<std::string> outputs;
  std::vector<BlifCell> registers;
  std::vector<std::string> clocks;  // inputs that are a register's clock
  int logic_inputs = 0;
  int logic_outputs = 0;
};
// EDA-0104: a cell that is not a register of the library.
base::Result<CutDesign> CutAtRegisters(const Blif& design,
                                       const LibertyLibrary& library);

struct MappedDesign {
  std::string verilog;  // module top; nets n0, n1, ..
  double area = 0;      // um2
  int64_t cells = 0;
  std::vector<std::string> clocks;  // port names in `verilog`
  std::vector<std::string> inputs;  // without the clocks
  std::vector<std::string> outputs;
};
// Puts the mapped logic and the registers together. EDA-0105: an unmapped table or a
// cell that the library does not have.
base::Result<MappedDesign> Reunite(const CutDesign& design, const Blif& mapped,
                                   const LibertyLibrary& library);

}  // namespace stepslack::eda

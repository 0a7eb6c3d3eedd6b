// Reads the part of a liberty cell library that an area report and the cutting of a
// netlist at its registers need: names, areas, registers, pins (Liberty User Guide,
// version 2007.03, chapters 2 to 5). Everything else is skipped, with its nesting
// checked.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "stepslack/base/result.h"

namespace stepslack::eda {

struct LibertyPin {
  bool is_output = false;
  bool is_clock = false;
};

struct LibertyCell {
  double area = 0;  // as in the file; um2 in the libraries of qflow
  bool sequential = false;
  std::map<std::string, LibertyPin, std::less<>> pins;
};

struct LibertyLibrary {
  std::string name;
  std::map<std::string, LibertyCell, std::less<>> cells;
};

// EDA-0100 not in the liberty format (line), EDA-0101 no cell in it. `name` is used in
// errors. Nesting is limited to 64, text to 256 MiB.
base::Result<LibertyLibrary> ParseLiberty(std::string_view text, std::string_view name);

}  // namespace stepslack::eda

// A subset of DEF 5.x: units, die area, placed components, pins, nets with their routed
// wires; and of LEF: sizes of cells and the rectangles of their pins. Special nets
// (supply, and the short stubs qrouter writes there), vias, tracks and the like are
// skipped whole and counted.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "stepslack/base/result.h"

namespace stepslack::eda {

struct DefPoint {
  int64_t x = 0;
  int64_t y = 0;
};

struct DefComponent {
  std::string name;
  std::string macro;
  DefPoint place;  // lower left corner, database units
  std::string orientation;
};

struct DefPin {
  std::string name;
  std::string net;
  DefPoint place;
};

struct DefWire {
  std::string layer;
  DefPoint from;
  DefPoint to;
  bool first = false;  // segment after the layer's name
};

struct DefTerminal {
  std::string component;  // "PIN": a pin of the design
  std::string pin;
};

struct DefNet {
  std::string name;
  std::vector<DefTerminal> terminals;
  std::vector<DefWire> wires;
  int64_t vias = 0;
};

struct DefDesign {
  std::string name;
  int64_t dbu_per_um = 100;
  DefPoint low, high;  // die area
  std::vector<DefComponent> components;
  std::vector<DefPin> pins;
  std::vector<DefNet> nets;
  int64_t skipped_statements = 0;
};

// Errors say file and line: EDA-0220 the text ends inside a statement or section,
// EDA-0221 an unexpected word, EDA-0222 a number out of range or no number, EDA-0223 no
// units or no die area, EDA-0224 a section announces another count than it holds,
// EDA-0225 a name twice, EDA-0226 a wire that is neither horizontal nor vertical.
base::Result<DefDesign> ParseDef(std::string_view text, std::string_view name);
base::Result<DefDesign> ReadDef(const std::string& path);  // may be gzip

struct LefPoint {
  double x_um = 0;
  double y_um = 0;
};
struct LefMacro {
  double width_um = 0;
  double height_um = 0;
  std::map<std::string, LefPoint> pin_centre;  // middle of its first rectangle
};
// Macros by name. EDA-0227: no macro with a size, or a damaged line.
base::Result<std::map<std::string, LefMacro>> ParseLef(std::string_view text,
                                                       std::string_view name);
base::Result<std::map<std::string, LefMacro>> ReadLef(const std::string& path);

}  // namespace stepslack::eda

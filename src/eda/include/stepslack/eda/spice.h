// Netlists of resistors, current sources and voltage sources (R, I, V) in SPICE form,
// as the static IR-drop contest of ICCAD 2023 uses them.
//
// Understood: one element a line, `NAME NODE NODE VALUE` with an optional `DC` before
// the value; continuation lines that start with `+`; comments from `*` at the start of
// a line and from `$` or `;` anywhere; SI suffixes f p n u m k meg g t with a unit
// after them; any case. Node `0` or `gnd` is ground. A first line that is no element is
// the title; `.op`, `.title`, `.option` and the like change nothing here and are
// counted;
// `.end` ends. Anything else is refused by name, never skipped.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stepslack/base/result.h"

namespace stepslack::eda {

inline constexpr int32_t kGround = 0;  // index of the ground node

struct SpiceElement {
  int32_t from = 0;  // nodes
  int32_t to = 0;
  double value = 0;  // ohm, A or V
  int64_t line = 0;  // from 1
};

struct SpiceNetlist {
  std::string name;                // of the file, for messages
  std::vector<std::string> nodes;  // [0] is ground
  std::vector<int64_t> node_line;  // where each was named first; 0 for ground
  std::vector<SpiceElement> resistors;
  std::vector<SpiceElement> currents;  // a positive value leaves `from`, enters `to`
  std::vector<SpiceElement> voltages;  // v(from) - v(to) = value
  int64_t ignored_controls = 0;        // lines such as .op
};

// Every error says file and line: EDA-0200 an element of another kind or an unknown
// control line, EDA-0201 too few or too many words, EDA-0202 a value that is no finite
// number, EDA-0203 an element named twice, EDA-0204 a resistance of 0, EDA-0205 a
// negative resistance, EDA-0206 a `+` with nothing to continue, EDA-0207 no element at
// all, EDA-0208 more nodes than indices can name.
base::Result<SpiceNetlist> ParseSpice(std::string_view text, std::string_view name);

// The same from a file, inflated when it is gzip.
base::Result<SpiceNetlist> ReadSpice(const std::string& path);

// "1.5k", "2meg", "3.3uA", "10" in units of one; no value when it is not a number.
std::optional<double> ParseSpiceNumber(std::string_view word);

// Where a node of a power grid lies: `n1_m4_160800_4800` is net 1, layer m4, place in
// database units.
struct GridNodeName {
  int net = 0;
  int layer = 0;
  int64_t x_dbu = 0;
  int64_t y_dbu = 0;
};
std::optional<GridNodeName> ParseGridNode(std::string_view node);

}  // namespace stepslack::eda

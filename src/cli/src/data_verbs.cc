// `stepslack data ACTION`: each action is a verb of two words with options of its own.
#include "verb_tables.h"

namespace stepslack::cli {

std::vector<VerbInfo> DataVerbs() {
  return {
      {"data make",
       "get data in",
       "make a labelled data set with exact or tool-made labels",
       {"stepslack data make irdrop --out maps --seed 1 --count 64"},
       {{"WHAT", "", "", "which data set", {"irdrop"}},
        {"--out", "DIR", "", "folder to write; must not exist or be empty", {}},
        {"--seed", "N", "1", "of everything that is drawn", {}},
        {"--count", "N", "64", "samples", {}},
        {"--tiles", "N", "64", "side of a map, 16 to 256", {}},
        {"--temperature", "C", "25", "corner: of the metal (copper)", {}},
        {"--current-factor", "X", "1", "corner: all currents times this", {}}},
       {"text", "json"}},
      {"data solve",
       "get data in",
       "solve the power grid of a SPICE netlist exactly and draw its maps",
       {"stepslack data solve grid.sp.gz --out maps"},
       {{"NETLIST", "", "", "R, I and V lines, may be gzip", {}},
        {"--out",
         "DIR",
         "",
         "folder for maps and nodes.csv; none: only the summary",
         {}}},
       {"text", "json"}},
  };
}

}  // namespace stepslack::cli

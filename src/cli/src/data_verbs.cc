// `stepslack data ACTION`: each action is a verb of two words with options of its own.
#include "verb_tables.h"

namespace stepslack::cli {

std::vector<VerbInfo> DataVerbs() {
  return {
      {"data make",
       "get data in",
       "make a labelled data set with exact or tool-made labels",
       {"stepslack data make irdrop --out maps --seed 1 --count 64"},
       {{"WHAT", "", "", "which data set", {"irdrop", "qor"}},
        {"--out", "DIR", "", "folder to write; must not exist or be empty", {}},
        {"--seed", "N", "1", "of everything that is drawn", {}},
        {"--count", "N", "64", "samples", {}},
        {"--tech", "NAME", "osu035", "cell library of qor", {"osu035", "osu018"}},
        {"--resume", "", "", "qor: go on with a run that was stopped or killed", {}}},
       {"text", "json"}},
      {"data choose",
       "get data in",
       "compare a learned choice (of a recipe) with every fixed one",
       {"stepslack data choose qor/qor.csv --choice recipe --minimise wc_delay"},
       {{"TABLE", "", "", "table of samples, or the folder of `data make qor`", {}},
        {"--choice", "COLUMN", "recipe", "what is chosen", {}},
        {"--minimise", "COLUMN", "wc_delay", "what it costs", {}},
        {"--group", "COLUMN", "family", "leakage unit", {}},
        {"--design", "COLUMN", "design", "the case that a choice is made for", {}}},
       {"text", "json"}},
  };
}

}  // namespace stepslack::cli

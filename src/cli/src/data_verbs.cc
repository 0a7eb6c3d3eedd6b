// `stepslack data ACTION`: each action is a verb of two words with options of its own.
#include "verb_tables.h"

namespace stepslack::cli {
namespace {

VerbInfo DriftVerb() {
  return {
      "data drift",
      "get data in",
      "compare two tables feature by feature, whole groups changing sides",
      {"stepslack data drift last-month.csv today.csv --group family --format json"},
      {{"REFERENCE", "", "", "table that is known", {}},
       {"CURRENT", "", "", "table to compare with it", {}},
       {"--group",
        "COLUMN",
        "",
        "groups that stay together: design, family; \"row\": each row alone",
        {}},
       {"--margin",
        "X",
        "0.2",
        "least effect that matters, in robust standard deviations of the reference",
        {}},
       {"--share-margin",
        "X",
        "0.05",
        "least change of a missing share or of the shares of a text that matters",
        {}},
       {"--alpha", "X", "0.05", "false discovery rate over the features", {}},
       {"--schema",
        "FILE",
        "",
        "dataset.toml; else beside the data, else guessed",
        {}}},
      {"text", "json"}};
}

VerbInfo DoomedVerb() {
  return {
      "data doomed",
      "get data in",
      "stop runs of a flow early: hours saved at a stated share of good runs lost",
      {"stepslack data doomed runs.csv.gz --label dr_drc --ran dr_wl --before "
       "rt_detailedroute --cost rt_detailedroute --group k_UTIL"},
      {{"TABLE", "", "", "one row a run, columns in the order of the stages", {}},
       {"--label",
        "COLUMN",
        "",
        "0 is clean, above 0 is dirty, no value is failed",
        {}},
       {"--ran", "COLUMN", "", "a value here without a label: unknown, not failed", {}},
       {"--before",
        "STAGE",
        "",
        "first column, or its prefix, that is not known yet when it is decided",
        {}},
       {"--cost", "COLUMN", "", "seconds that stopping saves", {}},
       {"--group", "COLUMN", "", "setting that is new when the rule is used", {}},
       {"--where", "COLUMN=TEXT,...", "", "only these rows", {}},
       {"--cost-false-stop", "X", "1", "what stopping a good run costs", {}},
       {"--cost-missed-stop", "X", "1", "what letting a bad run go on costs", {}},
       {"--good-lost", "X", "0.01", "share of good runs that may be lost", {}},
       {"--schema",
        "FILE",
        "",
        "dataset.toml; else beside the data, else guessed",
        {}}},
      {"text", "json"}};
}

}  // namespace

std::vector<VerbInfo> DataVerbs() {
  return {
      {"data make",
       "get data in",
       "make a labelled data set with exact or tool-made labels",
       {"stepslack data make irdrop --out maps --seed 1 --count 64"},
       {{"WHAT", "", "", "which data set", {"irdrop", "qor", "pnr"}},
        {"--out", "DIR", "", "folder to write; must not exist or be empty", {}},
        {"--seed", "N", "1", "of everything that is drawn", {}},
        {"--count", "N", "64", "samples", {}},
        {"--tech", "NAME", "osu035", "cell library of qor", {"osu035", "osu018"}},
        {"--resume",
         "",
         "",
         "qor, pnr: go on with a run that was stopped or killed",
         {}},
        {"--layers", "N", "4", "pnr: metal layers for wires", {"4", "3", "2"}},
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
      DriftVerb(),
      DoomedVerb(),
  };
}

}  // namespace stepslack::cli

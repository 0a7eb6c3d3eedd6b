// `stepslack data ACTION`: each action is a verb of two words with options of its own.
#include "verb_tables.h"

namespace stepslack::cli {
namespace {

const OptionInfo kSchema{
    "--schema", "FILE", "", "dataset.toml; else beside the data, else guessed", {}};

VerbInfo AuditVerb() {
  return {
      "data audit",
      "get data in",
      "what in a data set or its split would flatter a model",
      {"stepslack data audit qor.csv --split split.csv --label wc_delay",
       "stepslack data audit maps/ --format json"},
      {{"PATH", "", "", "a table, a folder of tables, or a folder of maps", {}},
       {"--split", "FILE", "", "id,part as CSV or JSON, or a folder of lists", {}},
       {"--group", "COLUMN", "", "leakage unit; else guessed by its name", {}},
       {"--rebuild", "", "", "run the stages of lineage.json again and compare", {}},
       {"--label", "COLUMN", "", "what is learned; else guessed by its name", {}},
       kSchema},
      {"text", "json"}};
}

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
       kSchema},
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
       kSchema},
      {"text", "json"}};
}

VerbInfo SplitVerb() {
  return {"data split",
          "get data in",
          "divide rows or maps into training, validation and test",
          {"stepslack data split qor/qor.csv --group family --out split.csv"},
          {{"PATH", "", "", "table, or folder of tables or of maps", {}},
           {"--policy",
            "NAME",
            "group",
            "random and stratified rows come with a warning",
            {"group", "time", "stratified", "kfold", "random"}},
           {"--group",
            "COLUMN",
            "",
            "what stays together: design, family; \"row\": each row alone",
            {}},
           {"--label", "COLUMN", "", "stratified: equal shares of its values", {}},
           {"--time", "COLUMN", "", "time: the latest rows are the test", {}},
           {"--seed", "N", "1", "same seed, same parts", {}},
           {"--test", "X", "0.2", "share of the rows", {}},
           {"--validation", "X", "0.15", "share of the rows; 0: no such part", {}},
           {"--folds", "K", "5", "kfold: how many", {}},
           {"--out", "FILE", "", "split file to write, .csv or .json", {}},
           kSchema},
          {"text", "json"}};
}

VerbInfo ShowVerb() {
  return {"data show",
          "get data in",
          "what a data set holds: columns or channels, units, missing values",
          {"stepslack data show runs.csv.gz"},
          {{"PATH", "", "", "table, or folder of tables or of maps", {}}, kSchema},
          {"text", "json"}};
}

VerbInfo CleanVerb() {
  return {"data clean",
          "get data in",
          "put rows that break declared rules into quarantine, with counts",
          {"stepslack data clean table --rules rules.toml --out cleaned"},
          {{"PATH", "", "", "table, or folder of tables", {}},
           {"--rules", "FILE", "", "[[rule]] with kind, column and bounds", {}},
           {"--out", "DIR", "", "folder to write; must not exist or be empty", {}},
           kSchema},
          {"text", "json"}};
}

VerbInfo IngestVerb() {
  return {"data ingest",
          "get data in",
          "copy a table with its kinds, units and roles declared, and its lineage",
          {"stepslack data ingest runs.csv.gz --out table"},
          {{"PATH", "", "", "table, or folder of tables", {}},
           {"--out", "DIR", "", "folder to write; must not exist or be empty", {}},
           kSchema},
          {"text", "json"}};
}

VerbInfo DiffVerb() {
  return {"data diff",
          "get data in",
          "compare two versions of a table cell by cell",
          {"stepslack data diff old.csv new.csv --key design,recipe"},
          {{"A", "", "", "table as it was", {}},
           {"B", "", "", "table as it is", {}},
           {"--key",
            "COLUMN,...",
            "",
            "what a row is known by; else its id, or its content",
            {}},
           kSchema},
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
      AuditVerb(),
      DriftVerb(),
      DoomedVerb(),
      SplitVerb(),
      ShowVerb(),
      CleanVerb(),
      IngestVerb(),
      DiffVerb(),
  };
}

}  // namespace stepslack::cli

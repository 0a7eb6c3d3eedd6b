#include "qor_files.h"

#include <fmt/format.h>

#include "stepslack/base/digest.h"
#include "stepslack/base/json.h"

namespace stepslack::eda {
namespace {

constexpr const char* kWords[] = {"ys_cells", "ys_wires", "w_add",   "w_mul",
                                  "w_mux",    "w_cmp",    "w_shift", "w_logic"};

std::string Labels(const QorSample& sample) {
  // A label that a tool did not deliver stays empty; 0 would be a value.
  if (sample.outcome.status != ToolStatus::kOk) return ",,,,";
  return fmt::format(",{},{},{},{}", base::FormatDouble(sample.area_um2), sample.cells,
                     base::FormatDouble(sample.wc_delay_ns),
                     base::FormatDouble(sample.tns10_ns));
}

base::Json ToolJson(const Tool& tool) {
  base::Json json;
  json.Set("version", tool.version);
  json.Set("sha256", tool.digest);
  return json;
}

std::string SchemaColumn(std::string_view name, std::string_view unit,
                         std::string_view role, std::string_view kind) {
  return fmt::format(
      "\n[[columns]]\nname = \"{}\"\nunit = \"{}\"\nrole = \"{}\"\nkind = \"{}\"\n",
      name, unit, role, kind);
}

}  // namespace

std::string QorCsv(const std::vector<QorRow>& rows) {
  std::string csv = "family,design,recipe,seq,final";
  for (const char* word : kWords) csv += fmt::format(",{}", word);
  csv += ",n_ff,aig_and,aig_lev,aig_pi,aig_po,area,cells,wc_delay,tns10,status,stage\n";
  for (const QorRow& row : rows) {
    csv += fmt::format("{},{},{},{},{}", row.design->family, row.design->design,
                       row.recipe->name, row.recipe->sequence, row.recipe->final);
    for (const char* word : kWords) {
      const auto found = row.words.find(word);
      csv += found == row.words.end() ? "," : fmt::format(",{}", found->second);
    }
    const QorSample& s = row.sample;
    // The graph is known once the mapper has read it, whatever came then.
    if (s.outcome.status == ToolStatus::kOk || s.outcome.stage == "sta") {
      csv += fmt::format(",{},{},{},{},{}", s.n_ff, s.aig_and, s.aig_levels,
                         s.aig_inputs, s.aig_outputs);
    } else {
      csv += ",,,,,";
    }
    csv += Labels(s) +
           fmt::format(",{},{}\n", ToString(s.outcome.status), s.outcome.stage);
  }
  return csv;
}

std::string CostsCsv(const std::vector<QorRow>& rows) {
  std::string csv = "design,recipe,t_synth_ms,t_map_ms\n";
  for (const QorRow& row : rows) {
    csv += fmt::format("{},{},{:.1f},{:.1f}\n", row.design->design, row.recipe->name,
                       row.synthesis_ms, row.sample.wall_ms);
  }
  return csv;
}

std::string QorSchema() {
  std::string toml =
      "# Synthesis data set: recipe -> area, delay. The leakage unit is the family.\n"
      "files = [\"qor.csv\"]\n";
  toml += SchemaColumn("family", "", "group", "text");
  toml += SchemaColumn("design", "", "group", "text");
  for (const char* name : {"recipe", "seq", "final"}) {
    toml += SchemaColumn(name, "", "feature", "text");
  }
  for (const char* name :
       {"ys_cells", "n_ff", "aig_and", "aig_lev", "aig_pi", "aig_po"}) {
    toml += SchemaColumn(name, "1", "feature", "number");
  }
  for (const char* name : {"ys_wires", "w_*"}) {
    toml += SchemaColumn(name, "bits", "feature", "number");
  }
  toml += SchemaColumn("area", "um2", "label", "number");
  toml += SchemaColumn("cells", "1", "label", "number");
  toml += SchemaColumn("wc_delay", "ns", "label", "number");
  toml += SchemaColumn("tns10", "ns", "label", "number");
  toml += SchemaColumn("status", "", "ignored", "text");
  return toml + SchemaColumn("stage", "", "ignored", "text");
}

std::string QorLineage(const QorOptions& options, const QorSurroundings& around,
                       const std::string& liberty_digest, const std::string& csv,
                       const QorReport& report) {
  base::Json tools;
  tools.Set("yosys", ToolJson(around.tools.yosys));
  tools.Set("abc", ToolJson(around.tools.abc));
  tools.Set("sta", ToolJson(around.tools.sta));
  base::Json library;
  library.Set("technology", options.technology);
  library.Set("sha256", liberty_digest);
  base::Json stage;
  stage.Set("name", "make qor");
  stage.Set("seed", options.seed);
  stage.Set("rows", report.rows);
  stage.Set("designs", report.designs);
  stage.Set("families", report.families);
  stage.Set("tools", std::move(tools));
  stage.Set("library", std::move(library));
  stage.Set("timeout_s", options.timeout_s);
  base::Json outcomes{base::Json::Object{}};
  for (const auto& [name, rows] : report.outcomes) outcomes.Set(name, rows);
  stage.Set("outcomes", std::move(outcomes));
  stage.Set("output", base::Sha256Of(csv));
  base::Json json;
  json.Set("schema", "stepslack.lineage/1");
  json.Set("stages", base::Json(base::Json::Array{std::move(stage)}));
  return json.Dump() + "\n";
}

}  // namespace stepslack::eda

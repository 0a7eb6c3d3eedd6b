#include "pnr_files.h"

#include <fmt/format.h>

#include "stepslack/base/digest.h"
#include "stepslack/base/json.h"
#include "stepslack/data/lineage.h"

namespace stepslack::eda {
namespace {

std::string Stage(const PnrStage& stage) {
  // A stage that did not run has no code and no time; 0 would be a value.
  if (!stage.ran) return ",,,";
  return fmt::format(",{},{:.2f},{:.2f}", stage.exit_code, stage.wall_s, stage.cpu_s);
}

std::string IfKnown(const std::optional<int64_t>& value) {
  return value ? fmt::format(",{}", *value) : ",";
}

struct SchemaColumn {
  const char* name;
  const char* unit;
  const char* role;
  const char* kind;
};
constexpr SchemaColumn kColumns[] = {
    {"family", "", "group", "text"},
    {"design", "", "group", "text"},
    {"placement", "1", "ignored", "number"},
    {"ix", "1", "ignored", "number"},
    {"iy", "1", "ignored", "number"},
    {"pin_count", "1", "feature", "number"},
    {"rudy_um", "um", "feature", "number"},
    {"cell_area_um2", "um2", "feature", "number"},
    {"routed_um", "um", "label", "number"},
};

}  // namespace

std::string PnrSampleName(const PnrRow& row) {
  return fmt::format("{}-p{}", row.design->design, row.placement);
}

std::string PnrRowKey(const VerilogDesign& design, int64_t placement) {
  return fmt::format("{},{},{}", design.family, design.design, placement);
}

std::string StagesCsv(const std::vector<PnrRow>& rows) {
  std::string csv =
      "family,design,placement,synth_rc,synth_wall_s,synth_cpu_s,cells_mapped,"
      "constant_pins,place_rc,place_wall_s,place_cpu_s,route_rc,route_wall_s,"
      "route_cpu_s,stage1_routes,stage1_failed_nets,failed_nets,nets,unrouted_nets,"
      "status,ended_in\n";
  for (const PnrRow& row : rows) {
    const PnrSample& s = row.sample;
    csv += PnrRowKey(*row.design, row.placement) + Stage(s.synthesis) +
           IfKnown(s.cells) + (s.cells ? fmt::format(",{}", s.constant_pins) : ",") +
           Stage(s.placement) + Stage(s.routing) + IfKnown(s.router.stage1_routes) +
           IfKnown(s.router.stage1_failed_nets) + IfKnown(s.router.failed_nets);
    csv += s.status == ToolStatus::kOk ? fmt::format(",{},{}", s.nets, s.unrouted_nets)
                                       : ",,";
    csv += fmt::format(",{},{}\n", ToString(s.status), s.ended_in);
  }
  return csv;
}

std::string JoinTables(const std::vector<PnrRow>& rows, std::string PnrSample::*table,
                       std::string_view empty_header) {
  std::string csv(empty_header);
  for (const PnrRow& row : rows) {
    const std::string& text = row.sample.*table;
    const size_t header_end = text.find('\n');
    if (header_end != std::string::npos) csv += text.substr(header_end + 1);
  }
  return csv;
}

std::string PnrSchema() {
  std::string toml =
      "# Congestion data set: tiles of 16 um before routing -> routed length. The\n"
      "# leakage unit is the family; placements of one design are siblings.\n"
      "files = [\"tiles.csv\"]\n";
  for (const SchemaColumn& column : kColumns) {
    toml += fmt::format(
        "\n[[columns]]\nname = \"{}\"\nunit = \"{}\"\nrole = \"{}\"\nkind = \"{}\"\n",
        column.name, column.unit, column.role, column.kind);
  }
  return toml;
}

std::string PnrLineage(const PnrOptions& options, const PnrSurroundings& around,
                       const std::string& tiles_csv, const std::string& nets_csv,
                       const PnrReport& report) {
  data::LineageStage stage;
  stage.name = "make pnr";
  base::Json versions;
  const PnrTools& tools = around.tools;
  const std::pair<const char*, const Tool*> named[] = {{"yosys", &tools.yosys},
                                                       {"graywolf", &tools.graywolf},
                                                       {"qrouter", &tools.qrouter},
                                                       {"tclsh", &tools.tclsh}};
  for (const auto& [name, tool] : named) {
    versions.Set(name, tool->version);
    stage.inputs[name] = tool->digest;
  }
  stage.inputs["qflow scripts"] = tools.scripts_digest;
  stage.inputs["osu035"] = around.technology.digest;
  base::Json outcomes{base::Json::Object{}};
  for (const auto& [name, samples] : report.outcomes) outcomes.Set(name, samples);
  base::Json files;
  files.Set("tiles.csv", base::Sha256Of(tiles_csv));
  files.Set("nets.csv", base::Sha256Of(nets_csv));
  stage.output = base::Sha256Of(files.Dump(-1));
  stage.parameters.Set("seed", options.seed)
      .Set("count", options.count)
      .Set("technology", "osu035")
      .Set("route_layers", options.route_layers)
      .Set("timeout_s", options.timeout_s);
  stage.parameters.Set("tools", std::move(versions));
  stage.parameters.Set("outcomes", std::move(outcomes));
  stage.parameters.Set("files", std::move(files));
  stage.counts = {{"samples", report.samples},
                  {"designs", report.designs},
                  {"families", report.families},
                  {"tiles", report.tiles},
                  {"nets", report.nets},
                  {"samples with failed nets", report.samples_with_failed_nets}};
  data::Lineage lineage;
  lineage.stages.push_back(std::move(stage));
  return data::ToJson(lineage).Dump() + "\n";
}

}  // namespace stepslack::eda

#include "data_solve.h"

#include <fmt/format.h>

#include "stepslack/base/file.h"
#include "stepslack/base/json.h"
#include "stepslack/data/array_folder.h"
#include "stepslack/eda/spice_solver.h"

namespace stepslack::cli {
namespace {

base::Json AsJson(const eda::SpiceNetlist& netlist, const eda::OperatingPoint& point) {
  base::Json json;
  json.Set("netlist", netlist.name);
  json.Set("nodes", static_cast<int64_t>(netlist.nodes.size() - 1));
  json.Set("resistors", static_cast<int64_t>(netlist.resistors.size()));
  json.Set("current_sources", static_cast<int64_t>(netlist.currents.size()));
  json.Set("voltage_sources", static_cast<int64_t>(netlist.voltages.size()));
  json.Set("ignored_controls", netlist.ignored_controls);
  json.Set("current_a", point.source_current_a);
  json.Set("max_drop_mv", point.max_drop_v * 1e3);
  json.Set("max_drop_node", netlist.nodes[static_cast<size_t>(point.max_drop_node)]);
  json.Set("relative_residual", point.stats.relative_residual);
  json.Set("iterations", point.stats.iterations);
  return json;
}

std::string AsText(const base::Json& json) {
  return fmt::format(
      "{} nodes, {} resistors, {} current and {} voltage sources\n"
      "current    {:.4g} A\nmax drop   {:.4g} mV at {}\nresidual   {:.2g} after {} "
      "iterations\n",
      json["nodes"].AsInt(), json["resistors"].AsInt(), json["current_sources"].AsInt(),
      json["voltage_sources"].AsInt(), json["current_a"].AsDouble(),
      json["max_drop_mv"].AsDouble(), json["max_drop_node"].AsString(),
      json["relative_residual"].AsDouble(), json["iterations"].AsInt());
}

}  // namespace

base::Result<CommandResult> DataSolve(const Arguments& arguments,
                                      const base::Context& /*context*/) {
  SS_TRY(const eda::SpiceNetlist netlist, eda::ReadSpice(arguments.Value("NETLIST")));
  SS_TRY(const eda::OperatingPoint point, eda::SolveNetlist(netlist));
  if (const std::string out = arguments.Value("--out"); !out.empty()) {
    data::MapCollection collection;
    collection.channels = {{"current", "uA", false}, {"pad_distance", "um", false}};
    SS_TRY(data::WholeMap map, eda::DrawGridMap(netlist, point));
    collection.maps.push_back(std::move(map));
    SS_RETURN_IF_ERROR(data::WriteArrayFolder(collection, out));
    SS_RETURN_IF_ERROR(base::WriteFileAtomic(base::JoinPath(out, "nodes.csv"),
                                             eda::NodesAsCsv(netlist, point)));
  }
  const base::Json json = AsJson(netlist, point);
  return CommandResult{.output = arguments.Value("--format") == "json"
                                     ? json.Dump() + "\n"
                                     : AsText(json),
                       .exit_code = base::ExitCode::kOk};
}

}  // namespace stepslack::cli

#include "pnr_flow.h"

#include <fmt/format.h>

#include "scratch_folder.h"
#include "stepslack/base/digest.h"
#include "stepslack/base/file.h"
#include "stepslack/eda/pnr_tiles.h"

namespace stepslack::eda {
namespace {

constexpr const char* kBuffer = "BUFX2";

// The flow of one sample; every step says whether the next one has what it needs.
class Flow {
 public:
  Flow(const PnrSurroundings& around, const ScratchFolder& scratch)
      : around_(around), scratch_(scratch) {}

  base::Result<PnrSample> Run(const VerilogDesign& design, const std::string& name,
                              uint64_t placement_seed) {
    SS_TRY(const bool mapped, Synthesise(design));
    if (!mapped) return std::move(sample_);
    SS_TRY(const bool placed, Place(placement_seed));
    if (!placed) return std::move(sample_);
    SS_TRY(const bool routed, Route());
    if (routed) MakeTables(name);
    return std::move(sample_);
  }

 private:
  base::Result<ToolEnd> Call(std::string_view what, std::vector<std::string> argv,
                             PnrStage& stage) {
    SS_TRY(ToolEnd end, RunTool({.argv = std::move(argv),
                                 .log = scratch_.File(fmt::format("{}.log", what)),
                                 .folder = scratch_.path(),
                                 .timeout_s = around_.timeout_s,
                                 .stop = around_.stop}));
    stage.ran = true;
    stage.exit_code = end.signal != 0 ? 128 + end.signal : end.exit_code;
    stage.wall_s += end.wall_ms * 1e-3;
    stage.cpu_s += end.cpu_ms * 1e-3;
    if (end.status != ToolStatus::kOk) End(end.status, what);
    return end;
  }

  // Runs a tool that must leave the file `product`.
  base::Result<bool> Make(std::string_view what, std::vector<std::string> argv,
                          std::string_view product, PnrStage& stage) {
    SS_TRY(const ToolEnd end, Call(what, std::move(argv), stage));
    if (end.status != ToolStatus::kOk) return false;
    if (base::PathExists(scratch_.File(product))) return true;
    return End(ToolStatus::kBadOutput, what);
  }

  base::Result<bool> Translate(std::string_view script,
                               std::vector<std::string> arguments,
                               std::string_view product) {
    std::vector<std::string> argv = {
        around_.tools.tclsh.path,
        base::JoinPath(around_.tools.scripts, fmt::format("{}.tcl", script))};
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    return Make(script, std::move(argv), product, sample_.placement);
  }

  bool End(ToolStatus status, std::string_view what) {
    sample_.status = status;
    sample_.ended_in = what;
    return false;
  }

  base::Status Write(std::string_view name, const std::string& text) {
    return base::WriteFileAtomic(scratch_.File(name), text);
  }

  base::Result<bool> Synthesise(const VerilogDesign& design) {
    SS_RETURN_IF_ERROR(Write("in.v", design.text));
    SS_RETURN_IF_ERROR(Write(
        "synth.ys",
        fmt::format("read_verilog in.v\nhierarchy -check -top top\n"
                    "synth -flatten -top top\ndfflibmap -liberty {0}\n"
                    "abc -liberty {0}\nsetundef -zero\nopt_clean -purge\n"
                    "splitnets -ports -format __\nrename -enumerate\n"
                    "opt_clean -purge\nwrite_blif -gates -buf {1} A Y mapped.blif\n",
                    around_.technology.liberty_path, kBuffer)));
    SS_TRY(const bool made, Make("yosys", {around_.tools.yosys.path, "-q", "synth.ys"},
                                 "mapped.blif", sample_.synthesis));
    if (!made) return false;
    SS_TRY(const std::string text, base::ReadFile(scratch_.File("mapped.blif")));
    const auto netlist = ReadPlaceableNetlist(text, kBuffer);
    if (!netlist) return End(ToolStatus::kBadOutput, "yosys");
    sample_.cells = netlist->cells;
    sample_.constant_pins = netlist->constant_pins;
    SS_RETURN_IF_ERROR(Write("d.blif", netlist->blif));
    return true;
  }

  base::Result<bool> Place(uint64_t seed) {
    const std::string& lef = around_.technology.lef_path;
    SS_RETURN_IF_ERROR(
        Write("d.par", WithPlacementSeed(around_.technology.parameters, seed)));
    SS_TRY(const bool cel,
           Translate("blif2cel", {"--blif", "d.blif", "--lef", lef, "--cel", "d.cel"},
                     "d.cel"));
    if (!cel) return false;
    SS_TRY(const bool placed, Make("graywolf", {around_.tools.graywolf.path, "-n", "d"},
                                   "d.pin", sample_.placement));
    if (!placed) return false;
    // The translators read units and layers that the router reports.
    SS_RETURN_IF_ERROR(Write("info.cfg", fmt::format("read_lef {}\n", lef)));
    SS_TRY(const bool info,
           Make("qrouter",
                {around_.tools.qrouter.path, "-nog", "-i", "d.info", "-c", "info.cfg"},
                "d.info", sample_.placement));
    if (!info) return false;
    SS_TRY(const bool def,
           Translate("place2def",
                     {"d", "FILL", fmt::format("{}", around_.route_layers)}, "d.def"));
    if (!def) return false;
    SS_TRY(const bool spaced,
           Translate("addspacers", {"-stripe", "5", "150", "PG", "d", lef, "FILL"},
                     "d_filled.def"));
    if (!spaced) return false;
    SS_RETURN_IF_ERROR(Copy("d_filled.def", "d.def"));
    if (base::PathExists(scratch_.File("d.obsx"))) {
      SS_RETURN_IF_ERROR(Copy("d.obsx", "d.obs"));
    }
    SS_TRY(const bool arranged, Translate("arrangepins", {"d"}, "d_mod.def"));
    if (!arranged) return false;
    SS_RETURN_IF_ERROR(Copy("d_mod.def", "d.def"));
    return true;
  }

  base::Status Copy(std::string_view from, std::string_view to) {
    SS_TRY(const std::string text, base::ReadFile(scratch_.File(from)));
    return Write(to, text);
  }

  base::Result<bool> Route() {
    std::string obstructions;
    if (const auto text = base::ReadFile(scratch_.File("d.obs"))) obstructions = *text;
    SS_RETURN_IF_ERROR(Write(
        "route.cfg",
        fmt::format("verbose 1\nread_lef {}\ncatch {{layers {}}}\n"
                    "via stack all\nvdd vdd\ngnd gnd\n{}\nread_def d.def\n"
                    "qrouter::standard_route d_route.def false\nquit\n",
                    around_.technology.lef_path, around_.route_layers, obstructions)));
    SS_TRY(const ToolEnd end,
           Call("qrouter", {around_.tools.qrouter.path, "-nog", "-s", "route.cfg"},
                sample_.routing));
    sample_.router = ReadRouterLog(end.output);
    if (end.status != ToolStatus::kOk) return false;
    const auto def = base::ReadFile(scratch_.File("d_route.def"));
    // The router exits well also when its script failed.
    if (!def || !sample_.router.failed_nets) {
      return End(ToolStatus::kBadOutput, "qrouter");
    }
    sample_.def = *def;
    return true;
  }

  void MakeTables(const std::string& name) {
    const auto design = ParseDef(sample_.def, "d_route.def");
    if (design) {
      const auto tables = ComputePnrTables(*design, around_.technology.lef);
      if (tables) {
        sample_.tiles = static_cast<int64_t>(tables->tiles.size());
        sample_.nets = static_cast<int64_t>(tables->nets.size());
        sample_.unrouted_nets = tables->unrouted_nets;
        sample_.tiles_csv = TilesAsCsv(name, tables->tiles);
        sample_.nets_csv = NetsAsCsv(name, tables->nets);
        return;
      }
    }
    sample_.def.clear();
    End(ToolStatus::kBadOutput, "qrouter");
  }

  const PnrSurroundings& around_;
  const ScratchFolder& scratch_;
  PnrSample sample_;
};

base::Json StageJson(const PnrStage& stage) {
  base::Json json;
  json.Set("ran", stage.ran);
  json.Set("exit_code", stage.exit_code);
  json.Set("wall_s", stage.wall_s);
  json.Set("cpu_s", stage.cpu_s);
  return json;
}

PnrStage StageFromJson(const base::Json& json) {
  return {.ran = json["ran"].AsBool(),
          .exit_code = json["exit_code"].AsInt(),
          .wall_s = json["wall_s"].AsDouble(),
          .cpu_s = json["cpu_s"].AsDouble()};
}

void SetIfKnown(base::Json& json, std::string_view name,
                const std::optional<int64_t>& value) {
  if (value) json.Set(name, *value);
}

std::optional<int64_t> IntIfKnown(const base::Json& json) {
  return json.is_null() ? std::nullopt : std::optional<int64_t>(json.AsInt());
}

}  // namespace

base::Result<PnrSample> PlaceAndRoute(const VerilogDesign& design,
                                      const std::string& name, uint64_t placement_seed,
                                      const PnrSurroundings& around) {
  SS_TRY(const ScratchFolder scratch,
         ScratchFolder::Make(base::JoinPath(
             around.folder, fmt::format("{}-{}", design.design, placement_seed))));
  return Flow(around, scratch).Run(design, name, placement_seed);
}

base::Json ToJson(const PnrSample& sample) {
  base::Json outcome;
  outcome.Set("status", ToString(sample.status));
  outcome.Set("ended_in", sample.ended_in);
  base::Json json;
  json.Set("outcome", std::move(outcome));
  json.Set("synthesis", StageJson(sample.synthesis));
  json.Set("placement", StageJson(sample.placement));
  json.Set("routing", StageJson(sample.routing));
  SetIfKnown(json, "cells", sample.cells);
  json.Set("constant_pins", sample.constant_pins);
  SetIfKnown(json, "stage1_routes", sample.router.stage1_routes);
  SetIfKnown(json, "stage1_failed_nets", sample.router.stage1_failed_nets);
  SetIfKnown(json, "failed_nets", sample.router.failed_nets);
  json.Set("tiles", sample.tiles);
  json.Set("nets", sample.nets);
  json.Set("unrouted_nets", sample.unrouted_nets);
  json.Set("def", sample.def);
  json.Set("tiles_csv", sample.tiles_csv);
  json.Set("nets_csv", sample.nets_csv);
  return json;
}

PnrSample PnrSampleFromJson(const base::Json& json) {
  PnrSample sample;
  for (const ToolStatus status : {ToolStatus::kOk, ToolStatus::kTimeout,
                                  ToolStatus::kCrashed, ToolStatus::kBadOutput}) {
    if (json["outcome"]["status"].AsString() == ToString(status)) {
      sample.status = status;
    }
  }
  sample.ended_in = json["outcome"]["ended_in"].AsString();
  sample.synthesis = StageFromJson(json["synthesis"]);
  sample.placement = StageFromJson(json["placement"]);
  sample.routing = StageFromJson(json["routing"]);
  sample.cells = IntIfKnown(json["cells"]);
  sample.constant_pins = json["constant_pins"].AsInt();
  sample.router.stage1_routes = IntIfKnown(json["stage1_routes"]);
  sample.router.stage1_failed_nets = IntIfKnown(json["stage1_failed_nets"]);
  sample.router.failed_nets = IntIfKnown(json["failed_nets"]);
  sample.tiles = json["tiles"].AsInt();
  sample.nets = json["nets"].AsInt();
  sample.unrouted_nets = json["unrouted_nets"].AsInt();
  sample.def = json["def"].AsString();
  sample.tiles_csv = json["tiles_csv"].AsString();
  sample.nets_csv = json["nets_csv"].AsString();
  return sample;
}

}  // namespace stepslack::eda

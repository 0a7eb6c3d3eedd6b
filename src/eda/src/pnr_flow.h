// One design through synthesis, placement and routing.
#pragma once

#include <atomic>
#include <map>
#include <optional>
#include <string>

#include "pnr_text.h"
#include "stepslack/base/json.h"
#include "stepslack/eda/def.h"
#include "stepslack/eda/verilog_designs.h"
#include "tool_runner.h"

namespace stepslack::eda {

struct PnrTools {
  Tool yosys;
  Tool graywolf;
  Tool qrouter;
  Tool tclsh;
  std::string scripts;         // folder of the translators
  std::string scripts_digest;  // of those that are used
};

struct PnrTechnology {
  std::string liberty_path;
  std::string lef_path;
  std::string parameters;  // of the placer
  std::string digest;      // of the three files
  std::map<std::string, LefMacro> lef;
};

struct PnrSurroundings {
  PnrTools tools;
  PnrTechnology technology;
  std::string folder;  // for files between the tools; names without blanks
  double timeout_s = 300;
  int route_layers = 4;
  const std::atomic<bool>* stop = nullptr;
};

// A stage is one tool or, for the placement, the placer with its translators.
struct PnrStage {
  bool ran = false;
  int64_t exit_code = 0;  // 128 + the signal when a signal ended it
  double wall_s = 0;
  double cpu_s = 0;
};

struct PnrSample {
  ToolStatus status = ToolStatus::kOk;
  std::string ended_in;  // the tool that ended it; "" when ok
  PnrStage synthesis, placement, routing;
  std::optional<int64_t> cells;
  int64_t constant_pins = 0;
  RouterOutcome router;
  int64_t tiles = 0;
  int64_t nets = 0;           // of two pins and more
  int64_t unrouted_nets = 0;  // of them, without any wire or via
  std::string def;            // routed; empty unless ok
  std::string tiles_csv;      // with a header
  std::string nets_csv;
};

// `name` stands in the first columns of the tables and may hold commas.
base::Result<PnrSample> PlaceAndRoute(const VerilogDesign& design,
                                      const std::string& name, uint64_t placement_seed,
                                      const PnrSurroundings& around);

base::Json ToJson(const PnrSample& sample);
PnrSample PnrSampleFromJson(const base::Json& json);

}  // namespace stepslack::eda

// The congestion data set: generated designs, placed and routed by real tools (yosys,
// graywolf, qrouter) with an open technology -> tiles, nets and outcomes.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "stepslack/base/result.h"
#include "stepslack/eda/verilog_designs.h"

namespace stepslack::eda {

struct PnrOptions {
  uint64_t seed = 1;
  // Samples: every design placed once, then every design with another placement seed,
  // up to 16 placements each.
  int64_t count = 64;
  std::string out;      // folder; absent or empty unless `resume`
  bool resume = false;  // go on with what `out` has of an earlier run
  int threads = 1;
  double timeout_s = 300;  // of one run of one tool
  int route_layers = 4;    // metal layers for wires, 2 to 4: fewer are more congested
  // Programs (names on PATH or paths) and the folders of qflow's translators and of the
  // technology; designs: empty for the generators'.
  std::string yosys = "yosys";
  std::string graywolf = "graywolf";
  std::string qrouter = "qrouter";
  std::string tclsh = "tclsh";
  std::string scripts = "/usr/lib/qflow/scripts";
  std::string technology = "/usr/share/qflow/tech/osu035";
  std::vector<VerilogDesign> designs;
};

struct PnrReport {
  int64_t samples = 0;
  int64_t designs = 0;
  int64_t families = 0;
  int64_t tiles = 0;
  int64_t nets = 0;
  int64_t samples_with_failed_nets = 0;     // of those that ended ok
  int64_t from_cache = 0;                   // samples of an earlier run
  std::map<std::string, int64_t> outcomes;  // "ok", "timeout in qrouter" -> samples
};

// Writes into `out`: tiles.csv and nets.csv (features and labels; equal bytes for equal
// seed, tools and technology, with any number of threads), stages.csv (how each stage
// of each sample ended, failed nets, times), dataset.toml (units and roles),
// lineage.json (seed, tool versions, digests), def/, verilog/ and cache/. A tool that
// crashes, hangs or says nothing usable makes a row of stages.csv with that status and
// no tiles. A finished sample is kept under a digest of everything it depends on, so
// that a killed run that is resumed repeats only what it was in the midst of.
// `progress` may be empty. Errors: EDA-0106 stopped, EDA-0107 a tool is absent,
// EDA-0260 a file of qflow or of the technology is absent, EDA-0261 an option out of
// range, EDA-0262 `out` is in use, EDA-0263 too few or too many layers.
base::Result<PnrReport> MakePnr(
    const PnrOptions& options,
    const std::function<void(int64_t done, int64_t total)>& progress,
    const std::atomic<bool>* stop);

}  // namespace stepslack::eda

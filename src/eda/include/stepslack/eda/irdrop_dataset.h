// The embedded data set: exact static IR-drop maps of generated power grids.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <utility>

#include "stepslack/base/result.h"
#include "stepslack/data/lineage.h"
#include "stepslack/data/map_collection.h"
#include "stepslack/eda/ir_solver.h"

namespace stepslack::eda {

struct IrDropOptions {
  uint64_t seed = 1;
  int families = 256;  // 1 .. 100000
  int variants = 4;    // of each family, 1 .. 1000
  int tiles = 64;      // a side, kMinTiles .. kMaxTiles
  int threads = 2;     // 0: one per usable core
  // Corner. All metal has the resistance of copper at this temperature, in parts of
  // that at 25 C: 1 + 0.00393 / K; currents are multiplied by `current_factor` (a
  // supply of 1.1 times the nominal one with a constant switched charge: 1.1).
  double temperature_c = 25;  // -55 .. 175
  double current_factor = 1;  // 0.01 .. 100
};

struct IrDropReport {
  int maps = 0;
  double total_seconds = 0;
  // The exact solver's own cost of one map: assembly, factorisation, iteration,
  // residual.
  int64_t solve_wall_median_ns = 0;
  int64_t solve_wall_p95_ns = 0;
  int64_t solve_cpu_median_ns = 0;
  double max_relative_residual = 0;
  int iterations_median = 0;
};

// Maps in the order f000v0, f000v1, .., group "f000", source "embedded"; channels
// current (uA), template (class), stripe (1), pad_distance (tiles, 1 / sum(1 / d));
// target: drop in mV at the lower nodes, solved for exactly the currents in the
// channel. The maps depend on seed, tiles and the map's own family and variant only:
// the same bytes for any number of threads, and fewer families are a prefix of more.
// `progress` may be empty; calls are serialised and `done` ascends. `stop` may be null.
// Errors: EDA-0020 and EDA-0240 an option out of range, EDA-0021 more than 8 GiB of
// maps, EDA-0022 stopped, and those of the solver.
base::Result<std::pair<data::MapCollection, IrDropReport>> MakeIrDropMaps(
    const IrDropOptions& options,
    const std::function<void(int done, int total)>& progress,
    const std::atomic<bool>* stop);

// How `maps` was made: options and digest of the collection, for lineage.json.
data::Lineage IrDropLineage(const IrDropOptions& options,
                            const data::MapCollection& maps);

// Solves one map again and returns what the exact solution costs: the time from the
// grid's description to the drop, with the drawing of the floorplan left out. EDA-0023:
// no such family or variant.
base::Result<SolveStats> TimeExactSolve(const IrDropOptions& options, int family,
                                        int variant);

}  // namespace stepslack::eda

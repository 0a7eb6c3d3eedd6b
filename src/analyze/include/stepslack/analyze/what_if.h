// What a step would take without stragglers: the replay of "Understanding Stragglers in
// Large Model Training Using What-if Analysis" (arXiv 2505.05713) over op traces.
//
// Every step is replayed twice over one dependency graph, without the gaps between an
// operation and what it waits for: with the durations of the trace (actual) and with
// every operation at the typical duration of its type over all ranks, stages and steps
// (ideal): the mean for computations, optimizer and gc, the median for communication.
// The duration of a communication is its transfer, its end minus the last start in its
// group, so that waiting is not counted twice. docs/metrics_whatif.md has the formulas.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stepslack/base/json.h"
#include "stepslack/base/result.h"
#include "stepslack/trace/op_trace.h"

namespace stepslack::analyze {

struct WhatIfOptions {
  // Share of the workers that count as the slowest, rounded up (paper: 3 %).
  double slowest_share = 0.03;
  // Below this S there is no slowdown to share out, and M_W and M_S are absent.
  double least_slowdown = 1.005;
};

// How much of the slowdown goes when some operations get their ideal duration. T are
// mean step times: T_actual of the actual replay, T_ideal of the ideal one.
struct WhatIfShare {
  double without_step_ns = 0;  // actual, but these operations ideal
  double only_step_ns = 0;     // ideal, but these operations actual
  double share = 0;            // (T_actual - without) / (T_actual - T_ideal)
  double alone = 0;            // (only - T_ideal) / (T_actual - T_ideal)
};

// Slowdown of one part alone: ideal everywhere but there, over ideal.
struct WhatIfWorker {
  int32_t rank = -1;
  int32_t dp_rank = 0;
  int32_t stage = 0;
  double slowdown = 1;  // the smaller one of its dp rank and its stage
};
struct WhatIfPart {
  int32_t id = 0;  // dp rank or stage
  double slowdown = 1;
};
struct WhatIfOp {
  std::string op;  // the type; sends and receives of a direction are one: "...-pp-comm"
  double slowdown = 1;
};
struct WhatIfStep {
  int64_t step = 0;
  int64_t measured_ns = 0;  // last end - first start in the trace
  int64_t actual_ns = 0;
  int64_t ideal_ns = 0;
  double slowdown = 1;  // actual / ideal
};
struct WhatIfLeftOut {
  std::string reason;
  int64_t steps = 0;
  int64_t first_step = 0;
};

struct WhatIf {
  double slowdown = 1;          // S: mean actual / mean ideal step
  double launch_slowdown = 1;   // mean measured / mean actual: what the gaps cost
  double measured_step_ns = 0;  // means over the steps used
  double actual_step_ns = 0;
  double ideal_step_ns = 0;
  std::optional<WhatIfShare> slowest_workers;  // its share is M_W
  std::string no_slowest_workers;              // why it is absent
  std::optional<WhatIfShare> last_stage;       // its share is M_S
  std::string no_last_stage;
  std::vector<int32_t> slowest_ranks;  // the workers of M_W, slowest first
  std::vector<WhatIfWorker> by_rank;   // all by slowdown, largest first, then number
  std::vector<WhatIfPart> by_dp_rank;
  std::vector<WhatIfPart> by_stage;
  std::vector<WhatIfOp> by_op;
  std::vector<WhatIfStep> steps;  // used, ascending
  std::vector<WhatIfLeftOut> left_out;
  int64_t ops_used = 0;
  int64_t ops_of_other_ranks =
      0;  // (dp rank, stage) on several ranks: the lowest counts
};

// Steps that cannot be replayed are left out by reason: a worker without operations,
// data-parallel ranks that differ, operations or an order unlike those of most steps,
// sends and receives that do not match, a circle, times too long to sum. Errors:
// ANL-0144 (more workers than operations), ANL-0145 (no step left), ANL-0146 (an ideal
// step of no duration), ANL-0147 (more than 4096 dp ranks and stages). About
// O(operations * (dp ranks + stages + 20)).
base::Result<WhatIf> ComputeWhatIf(const trace::OpTrace& trace,
                                   const WhatIfOptions& options = {});

// Keys S, M_W, M_S (null with M_W_reason, M_S_reason), launch_slowdown, by_rank,
// by_dp_rank, by_stage, by_op, slowest_ranks, steps, left_out, *_step_ns.
base::Json ToJson(const WhatIf& what_if);

}  // namespace stepslack::analyze

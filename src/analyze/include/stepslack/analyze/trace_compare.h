// What changed between two sets of traces, A (before) and B (after): kernels, device
// time, phases and collectives, each per rank-step, largest change first.
//
// Normalisation: a rank-step is one step of one rank. When every rank of both sets has
// steps, times are divided by the rank-steps of their set: device time and phases sum
// over the steps, collectives count when they start in a step. Kernels are totals of
// whole traces (also outside of steps) divided by the same number. When some rank has
// no steps, everything is a total of whole traces per rank. `basis` says which.
//
// Intervals: with at least 3 steps on each side, the ratio B / A of a device time,
// phase or collective is that of geometric means of per-step totals (mean over ranks
// for each step number), with Welch's t interval on logarithms. It covers the spread of
// steps inside these runs, not that between runs. Otherwise, and for kernels, the ratio
// is of the totals, without interval; `ratio.method` says why.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stepslack/analyze/rank_trace.h"
#include "stepslack/base/estimate.h"
#include "stepslack/base/json.h"

namespace stepslack::analyze {

enum class Presence { kBoth, kOnlyA, kOnlyB };
std::string_view ToString(Presence presence);  // "both", "vanished", "new"

struct TimeDelta {
  std::string name;  // a kernel (as it is), "exposed_comm", "forward", "all_reduce"
  std::string kind;  // of a kernel: "compute", "communication", "memory"
  Presence presence = Presence::kBoth;
  int64_t count_a = 0;  // kernels and collectives: calls on all ranks
  int64_t count_b = 0;
  int64_t total_a_ns = 0;  // exact, over all ranks
  int64_t total_b_ns = 0;
  double a_ns = 0;  // per rank-step, or per rank
  double b_ns = 0;
  double delta_ns = 0;  // b - a
  double calls_a = 0;   // count per rank-step, or per rank
  double calls_b = 0;
  double call_a_ns = 0;  // mean duration of a call; 0 when there are none
  double call_b_ns = 0;
  base::Estimate ratio;  // B / A; no value when A is 0
};

struct CompareSide {
  int64_t ranks = 0;
  int64_t rank_steps = 0;
  int64_t steps = 0;                // distinct step numbers
  int64_t collectives_outside = 0;  // that start in no step, not counted
};

struct TraceComparison {
  CompareSide a;
  CompareSide b;
  bool per_step = false;
  std::string basis;              // "per rank-step: A 2 ranks with 6 rank-steps, B ..."
  std::vector<TimeDelta> device;  // fields of DeviceTimes, by |delta|
  std::vector<TimeDelta> phases;  // fields of PhaseTimes
  std::vector<TimeDelta> kernels;      // by |delta|, then name
  std::vector<TimeDelta> collectives;  // by operation
};

TraceComparison CompareTraces(std::span<const RankTrace> a,
                              std::span<const RankTrace> b);

base::Json ToJson(const TraceComparison& comparison);  // "stepslack.trace_comparison/1"

}  // namespace stepslack::analyze

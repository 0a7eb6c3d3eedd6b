// Reduced traces with hand-chosen nanoseconds.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "stepslack/analyze/rank_trace.h"

namespace stepslack::analyze {

struct MadeSpan {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  int64_t seq = trace::kNoSeq;
  std::string_view op = "all_reduce";
  std::string_view group = "0";
  int64_t bytes = 0;
  int64_t group_size = 0;
  int32_t peer = -1;
};

// A rank with compute, copies and communication; its window is all of it.
inline RankTrace MadeRank(int32_t rank, int64_t world_size,
                          const std::vector<MadeSpan>& spans,
                          std::vector<trace::Interval> compute = {},
                          std::vector<trace::Interval> memory = {}) {
  RankTrace made;
  made.rank = rank;
  made.world_size = world_size;
  std::vector<trace::Interval> all = compute;
  all.insert(all.end(), memory.begin(), memory.end());
  std::vector<trace::Interval> comm;
  for (const MadeSpan& span : spans) {
    made.collectives.push_back({span.start_ns, span.end_ns, made.strings.Intern("nccl"),
                                made.strings.Intern(span.op),
                                made.strings.Intern(span.group), span.seq, span.bytes,
                                span.group_size, -1, span.peer});
    comm.push_back({span.start_ns, span.end_ns});
  }
  all.insert(all.end(), comm.begin(), comm.end());
  made.compute = trace::IntervalSet(std::move(compute));
  made.memory = trace::IntervalSet(std::move(memory));
  made.comm = trace::IntervalSet(std::move(comm));
  const trace::IntervalSet busy(std::move(all));
  if (!busy.empty()) {
    made.window_start_ns = busy.intervals().front().start_ns;
    made.window_end_ns = busy.intervals().back().end_ns;
  }
  return made;
}

inline void AddStep(RankTrace& rank, int64_t step, int64_t start_ns, int64_t end_ns,
                    int64_t exposed_comm_ns = 0) {
  TraceStep made;
  made.step = step;
  made.start_ns = start_ns;
  made.end_ns = end_ns;
  made.device.span_ns = end_ns - start_ns;
  made.device.exposed_comm_ns = exposed_comm_ns;
  rank.steps.push_back(made);
  rank.step_source = StepSource::kProfilerStep;
}

inline trace::IntervalSet Shifted(const trace::IntervalSet& set, int64_t by) {
  std::vector<trace::Interval> moved = set.intervals();
  for (trace::Interval& i : moved) i = {i.start_ns + by, i.end_ns + by};
  return trace::IntervalSet(std::move(moved));
}

// The same rank on a clock that shows `by` more.
inline RankTrace OnOtherClock(RankTrace rank, int64_t by) {
  rank.window_start_ns += by;
  rank.window_end_ns += by;
  for (TraceStep& step : rank.steps) {
    step.start_ns += by;
    step.end_ns += by;
  }
  for (CollectiveSpan& span : rank.collectives) {
    span.start_ns += by;
    span.end_ns += by;
  }
  rank.compute = Shifted(rank.compute, by);
  rank.memory = Shifted(rank.memory, by);
  rank.comm = Shifted(rank.comm, by);
  return rank;
}

// Two ranks, rank 1 computes 300 ns longer before the first all-reduce:
//   rank 0: compute [0, 100)  all_reduce [100, 450)  compute [450, 650)  [650, 720)
//   rank 1: compute [0, 400)  all_reduce [400, 450)  compute [450, 600)  [600, 720)
// so waits are 300 and 0, then 0 and 50; transfers 50 and 50, then 70 and 70.
inline std::vector<RankTrace> TwoRanks() {
  return {MadeRank(0, 2, {{100, 450, 0}, {650, 720, 1}}, {{0, 100}, {450, 650}}),
          MadeRank(1, 2, {{400, 450, 0}, {600, 720, 1}}, {{0, 400}, {450, 600}})};
}

}  // namespace stepslack::analyze

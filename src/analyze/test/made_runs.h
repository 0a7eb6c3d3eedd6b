// Small runs and traces with hand-chosen nanoseconds.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "stepslack/record/run_record.h"
#include "stepslack/trace/event_store.h"

namespace stepslack::analyze {

inline trace::EventStore MadeStore(int rank) {
  trace::EventStore store;
  store.file_rank = rank;
  return store;
}

inline void AddSpan(trace::EventStore& store, std::string_view name, int64_t start,
                    int64_t end) {
  store.Append(start, end, store.file_rank, 0, 1,
               store.strings.Intern("user_annotation"), store.strings.Intern(name));
}

inline void AddCollective(trace::EventStore& store, int64_t seq, int64_t start,
                          int64_t end, int64_t bytes, int64_t group_size = 2,
                          std::string_view name = "all_reduce",
                          std::string_view group = "dp") {
  store.collectives.push_back({store.strings.Intern(name), store.strings.Intern(group),
                               seq, bytes, group_size});
  store.Append(start, end, store.file_rank, 0, 2,
               store.strings.Intern("user_annotation"),
               store.strings.Intern("gloo:" + std::string(name)),
               static_cast<int32_t>(store.collectives.size() - 1));
}

// One step of 1000 ns on two ranks with two all-reduces; rank 1 arrives last in both.
inline std::vector<trace::EventStore> TwoRankStep() {
  std::vector<trace::EventStore> traces = {MadeStore(0), MadeStore(1)};
  AddSpan(traces[0], "ProfilerStep#7", 0, 1000);
  AddSpan(traces[0], "data", 0, 100);
  AddSpan(traces[0], "forward", 100, 300);
  AddSpan(traces[0], "backward", 300, 700);
  AddSpan(traces[0], "comm_wait", 700, 900);
  AddSpan(traces[0], "optimizer", 900, 1000);
  AddCollective(traces[0], 0, 400, 600, 1100);
  AddCollective(traces[0], 1, 650, 880, 1300);
  AddSpan(traces[1], "ProfilerStep#7", 0, 1000);
  AddSpan(traces[1], "data", 0, 100);
  AddSpan(traces[1], "forward", 100, 350);
  AddSpan(traces[1], "backward", 350, 750);
  AddSpan(traces[1], "comm_wait", 750, 900);
  AddSpan(traces[1], "optimizer", 900, 1000);
  AddCollective(traces[1], 0, 500, 610, 1100);
  AddCollective(traces[1], 1, 760, 890, 1300);
  for (trace::EventStore& store : traces) store.Sort();
  return traces;
}

// Milliseconds of one step on one rank.
struct StepShape {
  int64_t samples = 8;
  double step = 100;
  double data = 0;
  double forward = 0;
  double backward = 0;
  double comm_wait = 0;
  double optimizer = 0;
};

inline record::StepRecord MadeStep(int64_t step, const StepShape& shape) {
  const auto ns = [](double ms) { return static_cast<int64_t>(ms * 1e6); };
  record::StepRecord record;
  record.step = step;
  record.rank_samples = shape.samples;
  record.start_ns = step * ns(shape.step);
  record.step_ns = ns(shape.step);
  record.data_ns = ns(shape.data);
  record.forward_ns = ns(shape.forward);
  record.backward_ns = ns(shape.backward);
  record.comm_wait_ns = ns(shape.comm_wait);
  record.optimizer_ns = ns(shape.optimizer);
  record.comm_bytes = 4096;
  record.minor_faults = 10;
  record.cpu_seconds = 0.05;
  record.loss = 1.0 / static_cast<double>(step + 1);
  record.sample_digest = "s" + std::to_string(step);
  return record;
}

// `steps` equal steps on every rank; shapes[r] is rank r's.
inline record::RunRecord MadeRun(const std::vector<StepShape>& shapes, int64_t steps) {
  record::RunRecord run;
  run.summary.status = "done";
  run.summary.world_size = static_cast<int>(shapes.size());
  run.summary.steps = steps;
  run.summary.parameters_sha256 = "p";
  run.summary.predictions_sha256 = "q";
  for (const StepShape& shape : shapes) {
    run.steps.emplace_back();
    for (int64_t s = 0; s < steps; ++s) run.steps.back().push_back(MadeStep(s, shape));
  }
  return run;
}

}  // namespace stepslack::analyze

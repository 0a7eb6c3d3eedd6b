#include "sample_traces.h"

#include <utility>

namespace stepslack::render {
namespace {

using trace::Interval;
using trace::IntervalSet;

constexpr int64_t kUs = 1000;

struct Parts {
  std::vector<Interval> compute;
  std::vector<Interval> memory;
  std::vector<Interval> comm;
  std::vector<std::vector<Interval>> phases = std::vector<std::vector<Interval>>(7);
};

void AddCollective(analyze::RankTrace& trace, std::string_view op, int64_t start,
                   int64_t end) {
  analyze::CollectiveSpan span;
  span.op = trace.strings.Intern(op);
  span.start_ns = start;
  span.end_ns = end;
  trace.collectives.push_back(span);
}

void AddStep(analyze::RankTrace& trace, Parts& parts, int64_t number, int64_t start,
             int64_t late) {
  // Everyone ends at the same time: a late rank communicates shorter.
  const int64_t slack = number == 1 ? 3000 * kUs : 0;
  const int64_t end = start + 10'000 * kUs + slack;
  parts.memory.push_back({start + 100 * kUs, start + 500 * kUs});
  const int64_t backward = start + 3500 * kUs + late;
  for (int64_t at = start + 600 * kUs; at < backward; at += 300 * kUs) {
    parts.compute.push_back({at, std::min(at + 260 * kUs, backward)});
  }
  parts.compute.push_back({backward, backward + 4000 * kUs});
  for (int64_t bucket = 0; bucket < 3; ++bucket) {
    const int64_t from = backward + 1000 * kUs + bucket * 1200 * kUs;
    const int64_t to = bucket == 2 ? end - 1400 * kUs : from + 900 * kUs;
    parts.comm.push_back({from, to});
    AddCollective(trace, bucket == 2 ? "reduce_scatter" : "all_reduce", from, to);
  }
  parts.compute.push_back({end - 1300 * kUs, end - 500 * kUs});
  parts.phases[0].push_back({start, start + 550 * kUs});
  parts.phases[1].push_back({start + 550 * kUs, backward});
  parts.phases[2].push_back({backward, end - 1400 * kUs});
  parts.phases[3].push_back({end - 1350 * kUs, end - 450 * kUs});
  analyze::TraceStep step;
  step.step = number;
  step.start_ns = start;
  step.end_ns = end;
  trace.steps.push_back(step);
}

analyze::DeviceTimes Measure(const analyze::RankTrace& trace, Interval window) {
  const IntervalSet compute = trace.compute.Clip(window);
  const IntervalSet comm = trace.comm.Clip(window);
  const IntervalSet memory = trace.memory.Clip(window);
  analyze::DeviceTimes times;
  times.span_ns = window.end_ns - window.start_ns;
  times.compute_ns = compute.LengthNs();
  times.comm_ns = comm.LengthNs();
  times.memory_ns = memory.LengthNs();
  times.overlap_ns = comm.Intersection(compute).LengthNs();
  times.exposed_comm_ns = times.comm_ns - times.overlap_ns;
  times.idle_ns = times.span_ns - compute.Union(comm).Union(memory).LengthNs();
  return times;
}

}  // namespace

std::vector<analyze::RankTrace> SampleTraces(int32_t ranks, int64_t steps) {
  std::vector<analyze::RankTrace> traces;
  for (int32_t rank = 0; rank < ranks; ++rank) {
    analyze::RankTrace trace;
    Parts parts;
    trace.rank = rank;
    trace.world_size = ranks;
    int64_t start = 1'000'000'000;
    for (int64_t number = 0; number < steps; ++number) {
      const int64_t jitter = (rank * 37 + number * 11) % 17 * 10 * kUs;
      const bool straggler = rank == 2 && number == 1;
      AddStep(trace, parts, number, start, straggler ? 3000 * kUs : jitter);
      start = trace.steps.back().end_ns;
    }
    trace.compute = IntervalSet(std::move(parts.compute));
    trace.memory = IntervalSet(std::move(parts.memory));
    trace.comm = IntervalSet(std::move(parts.comm));
    for (auto& phase : parts.phases) trace.phase_sets.emplace_back(std::move(phase));
    trace.total = Measure(trace, {1'000'100'000, start - 500 * kUs});
    for (analyze::TraceStep& step : trace.steps) {
      step.device = Measure(trace, {step.start_ns, step.end_ns});
    }
    traces.push_back(std::move(trace));
  }
  return traces;
}

}  // namespace stepslack::render

#include "stepslack/analyze/reduce_trace.h"

#include <algorithm>
#include <array>

#include "trace_marks.h"

namespace stepslack::analyze {
namespace {

using trace::Interval;
using trace::IntervalSet;

// The intervals of one rank by what they are.
struct Spans {
  std::vector<Interval> compute;
  std::vector<Interval> memory;
  std::vector<Interval> comm;
  std::array<std::vector<Interval>, kMarkCount> marks;
};

Spans CollectSpans(const trace::EventStore& store, const TraceMarks& marks,
                   RankTrace& trace) {
  Spans spans;
  const bool device = marks.has_device_work();
  for (size_t i = 0; i < store.size(); ++i) {
    const Interval span{store.start_ns[i], store.end_ns[i]};
    const trace::CategoryKind kind = marks.KindOf(i);
    if (trace::IsDeviceWork(kind)) {
      ++trace.device_events;
      const bool comm = marks.IsCollective(i);
      trace.comm_events += comm ? 1 : 0;
      (comm                                   ? spans.comm
       : kind == trace::CategoryKind::kKernel ? spans.compute
                                              : spans.memory)
          .push_back(span);
      continue;
    }
    if (!device && marks.IsCollective(i)) {
      ++trace.comm_events;
      spans.comm.push_back(span);
      continue;
    }
    const Mark mark = marks.MarkOf(i);
    if (mark != Mark::kNone) spans.marks[static_cast<size_t>(mark)].push_back(span);
    // With every operator kept, the union of their time is made here.
    if (!device && kind == trace::CategoryKind::kOperator && mark == Mark::kNone &&
        store.NameOf(i) != "record_param_comms" &&
        !store.NameOf(i).starts_with("c10d::")) {
      spans.compute.push_back(span);
    }
  }
  return spans;
}

std::vector<Interval>& Of(Spans& spans, Mark mark) {
  return spans.marks[static_cast<size_t>(mark)];
}

// Without marks of the user's own, forward and backward are known from DDP's wrapper
// and from the operators of autograd.
std::vector<IntervalSet> PhaseSets(Spans& spans) {
  if (Of(spans, Mark::kForward).empty()) {
    std::swap(Of(spans, Mark::kForward), Of(spans, Mark::kForwardFallback));
  }
  if (Of(spans, Mark::kBackward).empty()) {
    Of(spans, Mark::kBackward) = Of(spans, Mark::kBackwardFallback);
  }
  std::vector<IntervalSet> sets;
  for (size_t phase = 0; phase < kPhaseCount; ++phase) {
    sets.emplace_back(spans.marks[phase]);
  }
  return sets;
}

// What the training thread computed: operators and phases, without its waits for
// communication.
IntervalSet CpuCompute(const trace::EventStore& store, Spans& spans) {
  std::vector<Interval> busy = std::move(spans.compute);
  busy.insert(busy.end(), store.operator_cover.begin(), store.operator_cover.end());
  for (const Mark mark : {Mark::kForward, Mark::kBackward, Mark::kBackwardFallback,
                          Mark::kOptimizer, Mark::kZeroGrad, Mark::kEval}) {
    busy.insert(busy.end(), Of(spans, mark).begin(), Of(spans, mark).end());
  }
  return IntervalSet(std::move(busy))
      .Difference(IntervalSet(Of(spans, Mark::kCommWait)));
}

int64_t SpanNs(const IntervalSet& set) {
  return set.empty() ? 0
                     : set.intervals().back().end_ns - set.intervals().front().start_ns;
}

DeviceTimes TimesOf(const IntervalSet& compute, const IntervalSet& memory,
                    const IntervalSet& comm) {
  DeviceTimes times;
  const IntervalSet all = compute.Union(memory).Union(comm);
  times.span_ns = SpanNs(all);
  times.idle_ns = times.span_ns - all.LengthNs();
  times.compute_ns = compute.LengthNs();
  times.memory_ns = memory.LengthNs();
  times.comm_ns = comm.LengthNs();
  const IntervalSet exposed = comm.Difference(compute);
  times.exposed_comm_ns = exposed.LengthNs();
  times.overlap_ns = times.comm_ns - times.exposed_comm_ns;
  times.exposed_comm_vs_all_ns = exposed.Difference(memory).LengthNs();
  return times;
}

void SetPhase(PhaseTimes& times, size_t phase, int64_t length_ns) {
  int64_t* const fields[kPhaseCount] = {
      &times.data_ns,      &times.forward_ns, &times.backward_ns,  &times.optimizer_ns,
      &times.zero_grad_ns, &times.eval_ns,    &times.checkpoint_ns};
  *fields[phase] = length_ns;
}

void MeasureSteps(RankTrace& trace) {
  for (TraceStep& step : trace.steps) {
    const Interval window{step.start_ns, step.end_ns};
    step.device = TimesOf(trace.compute.Clip(window), trace.memory.Clip(window),
                          trace.comm.Clip(window));
    const int64_t busy = step.device.span_ns - step.device.idle_ns;
    step.device.span_ns = step.end_ns - step.start_ns;
    step.device.idle_ns = step.device.span_ns - busy;
    for (size_t phase = 0; phase < kPhaseCount; ++phase) {
      SetPhase(step.phases, phase, trace.phase_sets[phase].Clip(window).LengthNs());
    }
  }
}

void CollectCollectives(const trace::EventStore& store, const TraceMarks& marks,
                        RankTrace& trace) {
  for (size_t i = 0; i < store.size(); ++i) {
    if (!marks.IsCollective(i)) continue;
    if (trace.device == "gpu" && !marks.IsDevice(i)) continue;
    const auto& args = store.collectives[static_cast<size_t>(store.collective[i])];
    CollectiveSpan span;
    span.start_ns = store.start_ns[i];
    span.end_ns = store.end_ns[i];
    span.kernel = trace.strings.Intern(store.NameOf(i));
    span.op = trace.strings.Intern(store.strings.Get(args.name));
    span.group = trace.strings.Intern(store.strings.Get(args.group));
    span.seq = args.seq;
    span.bytes = args.bytes;
    span.group_size = args.group_size;
    span.stream = store.stream[i];
    span.peer = args.peer;
    trace.collectives.push_back(span);
  }
}

void CopyHeader(const trace::EventStore& store, const std::string& source,
                RankTrace& trace) {
  trace.rank = store.file_rank;
  trace.world_size = store.world_size;
  trace.backend = store.backend;
  trace.sources = {source};
  trace.truncated = store.truncated;
  trace.stats = store.stats;
  trace.records = store.records_read;
  trace.events =
      std::max<int64_t>(store.events_read, static_cast<int64_t>(store.size()));
  if (store.size() == 0) return;
  trace.window_start_ns = store.start_ns.front();
  trace.window_end_ns = *std::max_element(store.end_ns.begin(), store.end_ns.end());
  for (const Interval& cover : store.operator_cover) {
    trace.window_start_ns = std::min(trace.window_start_ns, cover.start_ns);
    trace.window_end_ns = std::max(trace.window_end_ns, cover.end_ns);
  }
}

}  // namespace

std::string_view ToString(StepSource source) {
  switch (source) {
    case StepSource::kNone:
      return "none";
    case StepSource::kProfilerStep:
      return "profiler_step";
    case StepSource::kDeviceProfilerStep:
      return "device_profiler_step";
    case StepSource::kOptimizer:
      return "optimizer";
    case StepSource::kDataLoader:
      return "data_loader";
    case StepSource::kKernelSignature:
      return "kernel_signature";
  }
  return "none";
}

std::string_view ToString(KernelKind kind) {
  switch (kind) {
    case KernelKind::kCompute:
      return "compute";
    case KernelKind::kCommunication:
      return "communication";
    case KernelKind::kMemory:
      return "memory";
  }
  return "compute";
}

RankTrace ReduceTrace(const trace::EventStore& store, const std::string& source) {
  RankTrace trace;
  CopyHeader(store, source, trace);
  const TraceMarks marks(store);
  trace.device = marks.has_device_work() ? "gpu" : "cpu";
  Spans spans = CollectSpans(store, marks, trace);
  trace.phase_sets = PhaseSets(spans);
  trace.compute = marks.has_device_work() ? IntervalSet(std::move(spans.compute))
                                          : CpuCompute(store, spans);
  trace.memory = IntervalSet(std::move(spans.memory));
  trace.comm = IntervalSet(std::move(spans.comm));
  trace.total = TimesOf(trace.compute, trace.memory, trace.comm);
  for (size_t phase = 0; phase < kPhaseCount; ++phase) {
    SetPhase(trace.phases, phase, trace.phase_sets[phase].LengthNs());
  }
  trace.steps = FindSteps(store, marks, trace.step_source, trace.stats);
  MeasureSteps(trace);
  CollectCollectives(store, marks, trace);
  MeasureKernels(store, marks, trace);
  MeasureStreams(store, marks, trace);
  return trace;
}

}  // namespace stepslack::analyze

// One rank's trace reduced to what is measured: exact times, phases, kernels, streams,
// launches, and the spans of communication that ranks are compared by. The events
// themselves are gone after this, so memory follows kernels, not the size of a trace.
//
// All times are int64 ns on the clock of the trace. Definitions: docs/metrics.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stepslack/trace/event_store.h"
#include "stepslack/trace/import_stats.h"
#include "stepslack/trace/intervals.h"

namespace stepslack::analyze {

// Lengths of unions of intervals. On a device: compute = kernels that are no
// communication, memory = copies and sets, comm = communication kernels. On a CPU-only
// rank: compute = operators and phases without waiting, comm = spans of the backend.
struct DeviceTimes {
  int64_t span_ns = 0;  // first start to last end
  int64_t idle_ns = 0;  // span minus the union of all
  int64_t compute_ns = 0;
  int64_t memory_ns = 0;
  int64_t comm_ns = 0;
  int64_t overlap_ns = 0;                  // comm and compute at once
  int64_t exposed_comm_ns = 0;             // comm without compute
  int64_t exposed_comm_vs_all_ns = 0;      // comm without compute and copies
};

struct PhaseTimes {
  int64_t data_ns = 0;
  int64_t forward_ns = 0;
  int64_t backward_ns = 0;
  int64_t optimizer_ns = 0;
  int64_t zero_grad_ns = 0;
  int64_t eval_ns = 0;
  int64_t checkpoint_ns = 0;
};

struct TraceStep {
  int64_t step = 0;  // N of ProfilerStep#N, or counted from 0 when steps were inferred
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  DeviceTimes device;  // clipped to the step; span_ns is the step's length
  PhaseTimes phases;
};

// How the steps of a rank were found.
enum class StepSource {
  kNone,
  kProfilerStep,        // ProfilerStep#N on the CPU
  kDeviceProfilerStep,  // ProfilerStep#N on the device only
  kOptimizer,           // end of one Optimizer.step to the end of the next
  kDataLoader,          // start of one batch fetch to the next
  kKernelSignature      // a periodic sequence of kernels
};
std::string_view ToString(StepSource source);  // "profiler_step", ...

// One communication kernel (or CPU span of a backend) on one rank.
struct CollectiveSpan {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  trace::StringId kernel = 0;  // name on the timeline, in RankTrace::strings
  trace::StringId op = 0;      // "all_reduce"; "send_recv"; empty: not known
  trace::StringId group = 0;   // process group name; empty: not known
  int64_t seq = trace::kNoSeq;
  int64_t bytes = 0;       // of the message on this rank, 0: not known
  int64_t group_size = 0;  // 0: not known
  int32_t stream = -1;
  int32_t peer = -1;  // the other rank of a send or receive; -1: none or not known
};

enum class KernelKind { kCompute, kCommunication, kMemory };
std::string_view ToString(KernelKind kind);  // "compute", "communication", "memory"

struct KernelRow {
  trace::StringId name = 0;
  KernelKind kind = KernelKind::kCompute;
  int64_t count = 0;
  int64_t total_ns = 0;  // sum of durations
  int64_t min_ns = 0;
  int64_t max_ns = 0;
};

struct StreamTimes {
  int64_t stream = 0;
  int64_t events = 0;
  int64_t busy_ns = 0;
  int64_t host_bound_ns = 0;   // idle: the next launch came after the last kernel ended
  int64_t kernel_gap_ns = 0;   // idle: launched in time, gap below 30 us
  int64_t other_idle_ns = 0;   // launched in time and still late, or launch not known
  int64_t max_queue = 0;       // launched, not yet started
  double mean_queue = 0.0;     // over time
};

struct LaunchTimes {
  int64_t matched = 0;
  int64_t kernels_without_launch = 0;
  int64_t launches_without_kernel = 0;
  int64_t cpu_ns = 0;         // sum of launch calls
  int64_t delay_ns = 0;       // sum of launch end to kernel start, at least 0 each
  int64_t max_delay_ns = 0;
  int64_t before_launch = 0;  // kernels that seem to start before their launch
};

struct RankTrace {
  int32_t rank = -1;
  int64_t world_size = 0;  // 0: not known
  std::string backend;
  std::string device;               // "gpu", "cpu"
  std::vector<std::string> sources; // files, sorted
  bool truncated = false;
  trace::ImportStats stats;

  int64_t events = 0;  // complete events read
  int64_t device_events = 0;
  int64_t comm_events = 0;
  // First and last instant of any kept event; the window that the profiler saw.
  int64_t window_start_ns = 0;
  int64_t window_end_ns = 0;

  DeviceTimes total;
  PhaseTimes phases;
  StepSource step_source = StepSource::kNone;
  std::vector<TraceStep> steps;  // by start

  trace::IntervalSet compute;
  trace::IntervalSet memory;
  trace::IntervalSet comm;
  // CPU phases as intervals, for drawing: same order as the fields of PhaseTimes.
  std::vector<trace::IntervalSet> phase_sets;

  std::vector<CollectiveSpan> collectives;  // by start, then end
  std::vector<KernelRow> kernels;           // by total time, longest first, then name
  std::vector<StreamTimes> streams;         // by stream
  LaunchTimes launches;

  trace::StringPool strings;
};

}  // namespace stepslack::analyze

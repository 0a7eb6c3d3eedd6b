// Names that mean something in a trace, looked up once each: phases, steps, the kind of
// an event's category.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "stepslack/analyze/rank_trace.h"
#include "stepslack/trace/event_names.h"
#include "stepslack/trace/event_store.h"

namespace stepslack::analyze {

// The phases of PhaseTimes in the order of its fields, then what helps to find them.
enum class Mark {
  kData,
  kForward,
  kBackward,
  kOptimizer,
  kZeroGrad,
  kEval,
  kCheckpoint,
  kCommWait,
  kForwardFallback,   // DistributedDataParallel.forward
  kBackwardFallback,  // autograd::engine::evaluate_function
  kStep,
  kNone
};
constexpr size_t kPhaseCount = 7;
constexpr size_t kMarkCount = 11;

class TraceMarks {
 public:
  explicit TraceMarks(const trace::EventStore& store);

  trace::CategoryKind KindOf(size_t event) const {
    return kinds_[store_.category[event]];
  }
  bool IsDevice(size_t event) const { return trace::IsDeviceWork(KindOf(event)); }
  bool IsCollective(size_t event) const;
  // What a span of the CPU marks; device work and calls of the runtime mark nothing.
  Mark MarkOf(size_t event) const;
  int64_t StepOf(size_t event) const { return steps_[store_.name[event]]; }
  bool has_device_work() const { return has_device_work_; }

 private:
  const trace::EventStore& store_;
  std::vector<trace::CategoryKind> kinds_;  // by StringId
  std::vector<Mark> marks_;                 // by StringId
  std::vector<int64_t> steps_;              // by StringId; -1: no step
  bool has_device_work_ = false;
};

// The steps of the rank in `store`, and how they were found; clipping is the caller's.
// Counts in `stats` marks without a usable number, and numbers that stand on spans
// apart from each other.
std::vector<TraceStep> FindSteps(const trace::EventStore& store,
                                 const TraceMarks& marks, StepSource& source,
                                 trace::ImportStats& stats);

// Per stream and for launches; the store's events are sorted by start.
void MeasureStreams(const trace::EventStore& store, const TraceMarks& marks,
                    RankTrace& trace);
void MeasureKernels(const trace::EventStore& store, const TraceMarks& marks,
                    RankTrace& trace);

}  // namespace stepslack::analyze

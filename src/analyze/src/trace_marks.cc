#include "trace_marks.h"

#include "stepslack/analyze/phase_names.h"

namespace stepslack::analyze {
namespace {

Mark MarkOfName(std::string_view name) {
  if (StepOfSpan(name) >= 0) return Mark::kStep;
  if (name.starts_with("autograd::engine::evaluate_function")) {
    return Mark::kBackwardFallback;
  }
  if (name == "DistributedDataParallel.forward") return Mark::kForwardFallback;
  if (name.starts_with("Optimizer.zero_grad") || name == "## zero_grad ##" ||
      name == "zero_grad") {
    return Mark::kZeroGrad;
  }
  switch (PhaseOfSpan(name)) {
    case Phase::kData:
      return Mark::kData;
    case Phase::kForward:
      return Mark::kForward;
    case Phase::kBackward:
      return Mark::kBackward;
    case Phase::kOptimizer:
      return Mark::kOptimizer;
    case Phase::kEval:
      return Mark::kEval;
    case Phase::kCheckpoint:
      return Mark::kCheckpoint;
    case Phase::kCommWait:
      return Mark::kCommWait;
    case Phase::kCollective:
    case Phase::kOther:
      break;
  }
  return Mark::kNone;
}

}  // namespace

TraceMarks::TraceMarks(const trace::EventStore& store) : store_(store) {
  const size_t count = store.strings.size();
  kinds_.reserve(count);
  marks_.reserve(count);
  steps_.reserve(count);
  for (trace::StringId id = 0; id < count; ++id) {
    const std::string_view text = store.strings.Get(id);
    kinds_.push_back(trace::KindOfCategory(text));
    marks_.push_back(MarkOfName(text));
    steps_.push_back(StepOfSpan(text));
  }
  for (size_t i = 0; i < store.size() && !has_device_work_; ++i) {
    has_device_work_ = IsDevice(i);
  }
}

bool TraceMarks::IsCollective(size_t event) const {
  const int32_t index = store_.collective[event];
  if (index == trace::kNoCollective) return false;
  // A group of one rank communicates with nobody; on a device its kernel still is what
  // it is.
  return IsDevice(event) ||
         store_.collectives[static_cast<size_t>(index)].group_size != 1;
}

Mark TraceMarks::MarkOf(size_t event) const {
  switch (KindOf(event)) {
    case trace::CategoryKind::kOperator:
    case trace::CategoryKind::kAnnotation:
    case trace::CategoryKind::kOther:
      return marks_[store_.name[event]];
    default:
      return Mark::kNone;
  }
}

}  // namespace stepslack::analyze

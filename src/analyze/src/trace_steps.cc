// Where the steps of a rank are: from the profiler's marks, else from the optimizer,
// the data loader, or a period in the sequence of kernels.
#include <algorithm>
#include <map>

#include "trace_marks.h"

namespace stepslack::analyze {
namespace {

using trace::Interval;

constexpr size_t kFewestSteps = 2;
constexpr size_t kFewestPeriods = 3;

// One step a number; a number seen twice (several threads, a trace in pieces) counts
// with everything between its first start and its last end.
std::vector<TraceStep> MarkedSteps(const trace::EventStore& store,
                                   const TraceMarks& marks, bool on_device,
                                   trace::ImportStats& stats) {
  std::map<int64_t, Interval> found;
  for (size_t i = 0; i < store.size(); ++i) {
    const int64_t step = marks.StepOf(i);
    if (step < 0) {
      if (!on_device && store.NameOf(i).starts_with("ProfilerStep#")) {
        stats.Add("profiler step without a usable number", trace::Severity::kWarning,
                  0);
      }
      continue;
    }
    const bool device_mark = marks.KindOf(i) == trace::CategoryKind::kDeviceAnnotation;
    if (on_device ? !device_mark : marks.MarkOf(i) != Mark::kStep) continue;
    const Interval span{store.start_ns[i], store.end_ns[i]};
    const auto [entry, is_new] = found.emplace(step, span);
    if (is_new) continue;
    if (span.start_ns > entry->second.end_ns) {
      stats.Add("profiler step in several places, taken as one",
                trace::Severity::kWarning, 0);
    }
    entry->second.start_ns = std::min(entry->second.start_ns, span.start_ns);
    entry->second.end_ns = std::max(entry->second.end_ns, span.end_ns);
  }
  std::vector<TraceStep> steps;
  for (const auto& [number, span] : found) {
    TraceStep step;
    step.step = number;
    step.start_ns = span.start_ns;
    step.end_ns = span.end_ns;
    steps.push_back(step);
  }
  std::stable_sort(
      steps.begin(), steps.end(),
      [](const TraceStep& a, const TraceStep& b) { return a.start_ns < b.start_ns; });
  return steps;
}

// The steps between consecutive instants; none when there are too few.
std::vector<TraceStep> Between(std::vector<int64_t> instants) {
  std::sort(instants.begin(), instants.end());
  instants.erase(std::unique(instants.begin(), instants.end()), instants.end());
  if (instants.size() < kFewestSteps + 1) return {};
  std::vector<TraceStep> steps;
  for (size_t i = 0; i + 1 < instants.size(); ++i) {
    TraceStep step;
    step.step = static_cast<int64_t>(i);
    step.start_ns = instants[i];
    step.end_ns = instants[i + 1];
    steps.push_back(step);
  }
  return steps;
}

std::vector<int64_t> InstantsOf(const trace::EventStore& store, const TraceMarks& marks,
                                Mark mark, std::string_view part, bool at_end) {
  std::vector<int64_t> instants;
  for (size_t i = 0; i < store.size(); ++i) {
    if (marks.MarkOf(i) != mark) continue;
    if (store.NameOf(i).find(part) == std::string_view::npos) continue;
    instants.push_back(at_end ? store.end_ns[i] : store.start_ns[i]);
  }
  return instants;
}

// Kernels of the busiest stream in order.
std::vector<size_t> MainKernels(const trace::EventStore& store,
                                const TraceMarks& marks) {
  std::map<int32_t, std::vector<size_t>> streams;
  for (size_t i = 0; i < store.size(); ++i) {
    if (marks.KindOf(i) == trace::CategoryKind::kKernel && !marks.IsCollective(i)) {
      streams[store.stream[i]].push_back(i);
    }
  }
  std::vector<size_t> busiest;
  for (auto& [stream, kernels] : streams) {
    if (kernels.size() > busiest.size()) busiest = std::move(kernels);
  }
  return busiest;
}

// The period of a sequence of names in kernels: the distance that most often lies
// between two uses of one of the rarer kernels, when nearly everything repeats at it.
size_t PeriodOf(const trace::EventStore& store, const std::vector<size_t>& kernels) {
  std::map<trace::StringId, std::vector<size_t>> uses;
  for (size_t k = 0; k < kernels.size(); ++k) {
    uses[store.name[kernels[k]]].push_back(k);
  }
  std::map<size_t, size_t> votes;  // distance to kernel names
  for (const auto& [name, places] : uses) {
    if (places.size() < kFewestPeriods) continue;
    const size_t distance = places[1] - places[0];
    bool regular = true;
    for (size_t i = 1; i + 1 < places.size() && regular; ++i) {
      regular = places[i + 1] - places[i] == distance;
    }
    if (regular) ++votes[distance];
  }
  size_t period = 0;
  size_t best = 0;
  for (const auto& [distance, names] : votes) {
    if (names > best) {
      best = names;
      period = distance;
    }
  }
  if (period < 2 || kernels.size() < kFewestPeriods * period) return 0;
  size_t same = 0;
  for (size_t k = 0; k + period < kernels.size(); ++k) {
    if (store.name[kernels[k]] == store.name[kernels[k + period]]) ++same;
  }
  // Data-dependent kernels may differ; nine in ten is a period and not a habit.
  return same * 10 >= (kernels.size() - period) * 9 ? period : 0;
}

std::vector<TraceStep> StepsOfSignature(const trace::EventStore& store,
                                        const TraceMarks& marks) {
  const std::vector<size_t> kernels = MainKernels(store, marks);
  const size_t period = PeriodOf(store, kernels);
  if (period == 0) return {};
  std::vector<int64_t> starts;
  for (size_t k = 0; k < kernels.size(); k += period) {
    starts.push_back(store.start_ns[kernels[k]]);
  }
  return Between(std::move(starts));
}

}  // namespace

std::vector<TraceStep> FindSteps(const trace::EventStore& store,
                                 const TraceMarks& marks, StepSource& source,
                                 trace::ImportStats& stats) {
  const auto take = [&source](StepSource from, std::vector<TraceStep> steps) {
    source = from;
    return steps;
  };
  source = StepSource::kNone;
  if (auto steps = MarkedSteps(store, marks, false, stats); !steps.empty()) {
    return take(StepSource::kProfilerStep, std::move(steps));
  }
  if (auto steps = MarkedSteps(store, marks, true, stats); !steps.empty()) {
    return take(StepSource::kDeviceProfilerStep, std::move(steps));
  }
  if (auto steps =
          Between(InstantsOf(store, marks, Mark::kOptimizer, "Optimizer.step", true));
      !steps.empty()) {
    return take(StepSource::kOptimizer, std::move(steps));
  }
  if (auto steps = Between(
          InstantsOf(store, marks, Mark::kData, "enumerate(DataLoader)", false));
      !steps.empty()) {
    return take(StepSource::kDataLoader, std::move(steps));
  }
  if (auto steps = StepsOfSignature(store, marks); !steps.empty()) {
    return take(StepSource::kKernelSignature, std::move(steps));
  }
  return {};
}

}  // namespace stepslack::analyze

#include <algorithm>
#include <map>
#include <tuple>

#include "stepslack/analyze/phase_names.h"
#include "stepslack/analyze/phases.h"
#include "stepslack/trace/intervals.h"

namespace stepslack::analyze {
namespace {

using trace::Interval;
using trace::IntervalSet;

struct StepWindow {
  int64_t step = 0;
  Interval span;
};

// Everything of one rank that phases need, collected before the sets are built.
struct RankSpans {
  std::vector<StepWindow> steps;
  std::vector<Interval> compute;
  std::vector<Interval> comm_wait;
  std::vector<Interval> kernels;
  std::vector<Interval> comm;
  std::vector<Interval> wait;
  std::vector<Interval> transfer;
};

struct RankSets {
  IntervalSet compute;
  IntervalSet comm;
  IntervalSet wait;
  IntervalSet transfer;
};

void AddEvent(const trace::EventStore& store, size_t i, RankSpans& spans) {
  const Interval span{store.start_ns[i], store.end_ns[i]};
  const std::string_view category = store.CategoryOf(i);
  if (category == "gpu_user_annotation" || category == "python_function") return;
  if (store.collective[i] != trace::kNoCollective) {
    // A group of one rank communicates with nobody.
    const auto& args = store.collectives[static_cast<size_t>(store.collective[i])];
    if (args.group_size != 1) spans.comm.push_back(span);
    return;
  }
  if (category == "kernel" || category == "Kernel") {
    spans.kernels.push_back(span);
    return;
  }
  if (const int64_t step = StepOfSpan(store.NameOf(i)); step >= 0) {
    spans.steps.push_back({step, span});
    return;
  }
  switch (PhaseOfSpan(store.NameOf(i))) {
    case Phase::kForward:
    case Phase::kBackward:
    case Phase::kOptimizer:
      spans.compute.push_back(span);
      break;
    case Phase::kCommWait:
      spans.comm_wait.push_back(span);
      break;
    default:
      break;
  }
}

std::map<int, RankSpans> CollectSpans(std::span<const trace::EventStore> traces,
                                      const CollectiveMatch& match) {
  std::map<int, RankSpans> ranks;
  for (size_t s = 0; s < traces.size(); ++s) {
    const trace::EventStore& store = traces[s];
    const int fallback = store.file_rank >= 0 ? store.file_rank : static_cast<int>(s);
    for (size_t i = 0; i < store.size(); ++i) {
      AddEvent(store, i, ranks[store.rank[i] >= 0 ? store.rank[i] : fallback]);
    }
  }
  if (!match.quality.valid) return ranks;
  for (const MatchedCollective& collective : match.collectives) {
    for (const CollectiveOnRank& r : collective.ranks) {
      const int64_t turn = r.start_ns + r.wait_ns;
      ranks[r.rank].wait.push_back({r.start_ns, turn});
      ranks[r.rank].transfer.push_back({turn, r.end_ns});
    }
  }
  return ranks;
}

RankSets BuildSets(const RankSpans& spans) {
  RankSets sets;
  sets.compute =
      spans.kernels.empty()
          ? IntervalSet(spans.compute).Difference(IntervalSet(spans.comm_wait))
          : IntervalSet(spans.kernels);
  sets.comm = IntervalSet(spans.comm);
  sets.transfer = IntervalSet(spans.transfer).Intersection(sets.comm);
  // While one collective transfers, another's wait costs nothing.
  sets.wait = IntervalSet(spans.wait).Intersection(sets.comm).Difference(sets.transfer);
  return sets;
}

TracedStep Measure(const StepWindow& window, int rank, const RankSets& sets,
                   const std::vector<int64_t>& comm_starts) {
  TracedStep step;
  step.step = window.step;
  step.rank = rank;
  step.start_ns = window.span.start_ns;
  step.end_ns = window.span.end_ns;
  const IntervalSet comm = sets.comm.Clip(window.span);
  const IntervalSet compute = sets.compute.Clip(window.span);
  const IntervalSet exposed = comm.Difference(compute);
  const IntervalSet wait = sets.wait.Clip(window.span);
  const IntervalSet transfer = sets.transfer.Clip(window.span);
  step.compute_ns = compute.LengthNs();
  step.comm_ns = comm.LengthNs();
  step.exposed_ns = exposed.LengthNs();
  step.overlapped_ns = comm.Intersection(compute).LengthNs();
  step.wait_ns = wait.LengthNs();
  step.transfer_ns = transfer.LengthNs();
  step.exposed_wait_ns = exposed.Intersection(wait).LengthNs();
  step.exposed_transfer_ns = exposed.Intersection(transfer).LengthNs();
  step.exposed_unmatched_ns =
      step.exposed_ns - step.exposed_wait_ns - step.exposed_transfer_ns;
  const auto first =
      std::lower_bound(comm_starts.begin(), comm_starts.end(), window.span.start_ns);
  const auto last = std::lower_bound(first, comm_starts.end(), window.span.end_ns);
  step.collectives = last - first;
  return step;
}

}  // namespace

std::vector<TracedStep> PhasesOfTraces(std::span<const trace::EventStore> traces,
                                       const CollectiveMatch& match) {
  std::vector<TracedStep> steps;
  for (auto& [rank, spans] : CollectSpans(traces, match)) {
    const RankSets sets = BuildSets(spans);
    std::vector<int64_t> comm_starts;
    for (const Interval& span : spans.comm) comm_starts.push_back(span.start_ns);
    std::sort(comm_starts.begin(), comm_starts.end());
    for (const StepWindow& window : spans.steps) {
      steps.push_back(Measure(window, rank, sets, comm_starts));
    }
  }
  std::sort(steps.begin(), steps.end(), [](const TracedStep& a, const TracedStep& b) {
    return std::tie(a.step, a.rank, a.start_ns) < std::tie(b.step, b.rank, b.start_ns);
  });
  return steps;
}

}  // namespace stepslack::analyze

#include "rank_activity.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <set>
#include <utility>

namespace stepslack::analyze {
namespace {

constexpr int64_t kTimeLimitNs = int64_t{1} << 61;

trace::Interval OnCommonClock(int64_t start_ns, int64_t end_ns, int64_t correction) {
  const int64_t start = std::clamp(start_ns, -kTimeLimitNs, kTimeLimitNs);
  const int64_t end = std::clamp(end_ns, start, std::max(start, kTimeLimitNs));
  return {start - correction, end - correction};
}

std::vector<int64_t> CommonSteps(std::span<const RankTrace* const> traces) {
  std::vector<int64_t> common;
  for (size_t r = 0; r < traces.size(); ++r) {
    if (traces[r]->step_source != traces[0]->step_source) return {};
    std::vector<int64_t> own;
    for (const TraceStep& step : traces[r]->steps) own.push_back(step.step);
    std::sort(own.begin(), own.end());
    if (r == 0) {
      common = std::move(own);
      continue;
    }
    std::vector<int64_t> both;
    std::set_intersection(common.begin(), common.end(), own.begin(), own.end(),
                          std::back_inserter(both));
    common = std::move(both);
  }
  return common;
}

trace::Interval StepWindow(const RankTrace& trace, int64_t first, int64_t last,
                           int64_t correction) {
  int64_t start = std::numeric_limits<int64_t>::max();
  int64_t end = std::numeric_limits<int64_t>::min();
  for (const TraceStep& step : trace.steps) {
    if (step.step < first || step.step > last) continue;
    start = std::min(start, step.start_ns);
    end = std::max(end, step.end_ns);
  }
  return OnCommonClock(start, end, correction);
}

// Turns changes of state at instants into pieces.
class Sweep {
 public:
  Sweep(trace::Interval window, std::span<const OwnSpan> spans)
      : window_(window), spans_(spans) {}

  void AddSet(const trace::IntervalSet& set, Activity kind, int64_t correction) {
    for (const trace::Interval& i : set.intervals()) {
      const trace::Interval on = OnCommonClock(i.start_ns, i.end_ns, correction);
      AddChange(on.start_ns, on.end_ns, kind);
    }
  }

  void AddSpans() {
    for (uint32_t i = 0; i < spans_.size(); ++i) {
      const OwnSpan& span = spans_[i];
      if (span.end_ns <= window_.start_ns || span.start_ns >= window_.end_ns) continue;
      if (span.start_ns == span.end_ns) continue;
      changes_.push_back({span.start_ns, Change::kSpanStart, Activity::kIdle, i});
      changes_.push_back({span.ready_ns, Change::kSpanReady, Activity::kIdle, i});
      changes_.push_back({span.end_ns, Change::kSpanEnd, Activity::kIdle, i});
    }
  }

  std::vector<ActivityPiece> Run() {
    std::sort(changes_.begin(), changes_.end());
    int64_t now = window_.start_ns;
    size_t next = 0;
    while (now < window_.end_ns) {
      while (next < changes_.size() && changes_[next].time_ns <= now) {
        Apply(changes_[next++]);
      }
      const int64_t until = next < changes_.size()
                                ? std::min(changes_[next].time_ns, window_.end_ns)
                                : window_.end_ns;
      Emit(now, until);
      now = until;
    }
    return std::move(pieces_);
  }

 private:
  struct Change {
    // Order at one instant: what starts comes before what ends.
    enum Type { kStart, kSpanStart, kSpanReady, kEnd, kSpanEnd };
    int64_t time_ns;
    Type type;
    Activity kind;
    uint32_t span;
    // clang-tidy 14 takes the defaulted comparison for a null pointer.
    // NOLINTNEXTLINE(modernize-use-nullptr)
    friend auto operator<=>(const Change&, const Change&) = default;
  };

  void AddChange(int64_t start_ns, int64_t end_ns, Activity kind) {
    if (end_ns <= window_.start_ns || start_ns >= window_.end_ns) return;
    changes_.push_back({start_ns, Change::kStart, kind, 0});
    changes_.push_back({end_ns, Change::kEnd, kind, 0});
  }

  int& Active(Activity kind) { return active_[static_cast<size_t>(kind)]; }

  void Apply(const Change& change) {
    switch (change.type) {
      case Change::kStart:
        ++Active(change.kind);
        return;
      case Change::kEnd:
        --Active(change.kind);
        return;
      case Change::kSpanStart:
        waiting_.emplace(spans_[change.span].ready_ns, change.span);
        return;
      case Change::kSpanReady:
        waiting_.erase({spans_[change.span].ready_ns, change.span});
        moving_.emplace(spans_[change.span].ready_ns, change.span);
        return;
      case Change::kSpanEnd:
        moving_.erase({spans_[change.span].ready_ns, change.span});
        return;
    }
  }

  void Emit(int64_t start_ns, int64_t end_ns) {
    ActivityPiece piece{start_ns, end_ns, Activity::kIdle, 0, false};
    if (Active(Activity::kCompute) > 0) {
      piece.kind = Activity::kCompute;
    } else if (Active(Activity::kMemory) > 0) {
      piece.kind = Activity::kMemory;
    } else if (!moving_.empty()) {
      piece.kind = Activity::kTransfer;
      piece.collective = spans_[moving_.rbegin()->second].collective;
    } else if (!waiting_.empty()) {
      const OwnSpan& span = spans_[waiting_.begin()->second];
      piece.kind = Activity::kWait;
      piece.collective = span.collective;
      piece.completes = span.ready_ns == end_ns;
    } else if (Active(Activity::kOtherComm) > 0) {
      piece.kind = Activity::kOtherComm;
    }
    if (!pieces_.empty() && pieces_.back().kind == piece.kind &&
        pieces_.back().collective == piece.collective && !pieces_.back().completes) {
      pieces_.back().end_ns = end_ns;
      pieces_.back().completes = piece.completes;
    } else {
      pieces_.push_back(piece);
    }
  }

  trace::Interval window_;
  std::span<const OwnSpan> spans_;
  std::vector<Change> changes_;
  int active_[6] = {};
  std::set<std::pair<int64_t, uint32_t>> waiting_;  // by when they are complete
  std::set<std::pair<int64_t, uint32_t>> moving_;
  std::vector<ActivityPiece> pieces_;
};

// Steps that were inferred are counted from the first one seen, which need not be the
// same on all ranks: their windows must start within half a step of each other.
bool StartTogether(const RankWindows& windows) {
  const StepSource source = windows.traces.front()->step_source;
  if (source == StepSource::kProfilerStep ||
      source == StepSource::kDeviceProfilerStep) {
    return true;
  }
  const double steps = static_cast<double>(windows.last_step) -
                       static_cast<double>(windows.first_step) + 1;
  double shortest = std::numeric_limits<double>::max();
  int64_t last_start = std::numeric_limits<int64_t>::min();
  for (const trace::Interval& w : windows.windows) {
    shortest = std::min(shortest, static_cast<double>(w.end_ns - w.start_ns) / steps);
    last_start = std::max(last_start, w.start_ns);
  }
  return static_cast<double>(last_start - windows.FirstNs()) <= shortest / 2;
}

}  // namespace

size_t RankWindows::Dense(int32_t rank) const {
  const size_t same = static_cast<size_t>(rank);  // the usual case: ranks 0 ... n - 1
  if (same < traces.size() && traces[same]->rank == rank) return same;
  const auto at = std::lower_bound(
      traces.begin(), traces.end(), rank,
      [](const RankTrace* trace, int32_t r) { return trace->rank < r; });
  return static_cast<size_t>(at - traces.begin());
}

int64_t RankWindows::FirstNs() const {
  int64_t first = std::numeric_limits<int64_t>::max();
  for (const trace::Interval& w : windows) first = std::min(first, w.start_ns);
  return first;
}

int64_t RankWindows::LastNs() const {
  int64_t last = std::numeric_limits<int64_t>::min();
  for (const trace::Interval& w : windows) last = std::max(last, w.end_ns);
  return last;
}

RankWindows WindowsOf(std::span<const RankTrace> traces, const CrossRank& cross) {
  RankWindows result;
  for (const RankTrace& trace : traces) result.traces.push_back(&trace);
  std::stable_sort(
      result.traces.begin(), result.traces.end(),
      [](const RankTrace* a, const RankTrace* b) { return a->rank < b->rank; });
  for (const RankTrace* trace : result.traces) {
    result.corrections.push_back(cross.Correction(trace->rank));
  }
  const std::vector<int64_t> common = CommonSteps(result.traces);
  if (!common.empty()) {
    result.first_step = common.front();
    result.last_step = common.back();
    for (size_t r = 0; r < result.traces.size(); ++r) {
      result.windows.push_back(StepWindow(*result.traces[r], result.first_step,
                                          result.last_step, result.corrections[r]));
    }
    result.steps = StartTogether(result);
    if (result.steps) return result;
    result.windows.clear();
  }
  for (size_t r = 0; r < result.traces.size(); ++r) {
    result.windows.push_back(OnCommonClock(result.traces[r]->window_start_ns,
                                           result.traces[r]->window_end_ns,
                                           result.corrections[r]));
  }
  return result;
}

std::vector<std::vector<OwnSpan>> SpansByRank(const RankWindows& windows,
                                              const CrossRank& cross) {
  std::vector<std::vector<OwnSpan>> spans(windows.traces.size());
  for (uint32_t c = 0; c < cross.collectives.size(); ++c) {
    for (const CollectiveOnRank& r : cross.collectives[c].ranks) {
      spans[windows.Dense(r.rank)].push_back(
          {r.start_ns, r.start_ns + r.wait_ns, r.end_ns, c});
    }
  }
  for (std::vector<OwnSpan>& of_rank : spans) {
    std::stable_sort(
        of_rank.begin(), of_rank.end(),
        [](const OwnSpan& a, const OwnSpan& b) { return a.start_ns < b.start_ns; });
  }
  return spans;
}

std::vector<ActivityPiece> PiecesOf(const RankTrace& trace, int64_t correction,
                                    trace::Interval window,
                                    std::span<const OwnSpan> spans) {
  Sweep sweep(window, spans);
  sweep.AddSet(trace.compute, Activity::kCompute, correction);
  sweep.AddSet(trace.memory, Activity::kMemory, correction);
  sweep.AddSet(trace.comm, Activity::kOtherComm, correction);
  sweep.AddSpans();
  return sweep.Run();
}

}  // namespace stepslack::analyze

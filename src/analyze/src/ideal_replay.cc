#include "ideal_replay.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <queue>
#include <utility>
#include <vector>

namespace stepslack::analyze {
namespace {

constexpr uint32_t kNone = 0xffffffff;

// What happens next on a rank, in the order of its own time.
struct Event {
  int64_t time_ns = 0;       // in the trace
  int64_t advance_ns = 0;    // own work before it
  uint32_t arrives = kNone;  // collective
  uint32_t needs = kNone;    // collective that must be complete to go on
};

struct RankState {
  std::vector<Event> events;
  size_t next = 0;
  size_t in_window = 0;   // events before the end of the window
  int64_t now_ns = 0;     // in the replay, from the first start of all
  int64_t end_ns = 0;     // `now_ns` after the last event in the window
  bool advanced = false;  // the work before events[next] is done
};

struct CollectiveState {
  int64_t ready_ns = 0;
  int64_t missing = 0;
  std::vector<uint32_t> waiting;  // ranks
};

class Replay {
 public:
  Replay(const RankWindows& windows, const CrossRank& cross)
      : windows_(windows), first_ns_(windows.FirstNs()) {
    for (const MatchedCollective& c : cross.collectives) {
      collectives_.push_back({0, static_cast<int64_t>(c.ranks.size()), {}});
    }
    const std::vector<std::vector<OwnSpan>> spans = SpansByRank(windows, cross);
    ranks_.resize(windows.traces.size());
    for (size_t r = 0; r < ranks_.size(); ++r) Prepare(r, spans[r]);
  }

  int64_t Run() {
    for (uint32_t r = 0; r < ranks_.size(); ++r) runnable_.push_back(r);
    while (true) {
      while (!runnable_.empty()) {
        const uint32_t rank = runnable_.back();
        runnable_.pop_back();
        Advance(rank);
      }
      if (!Force()) break;
    }
    int64_t length = 0;
    for (const RankState& rank : ranks_) length = std::max(length, rank.end_ns);
    return length;
  }

 private:
  void Prepare(size_t rank, const std::vector<OwnSpan>& spans);
  void Advance(uint32_t rank);
  void Arrive(uint32_t collective, int64_t time_ns);
  bool Force();

  const RankWindows& windows_;
  int64_t first_ns_;
  std::vector<RankState> ranks_;
  std::vector<CollectiveState> collectives_;
  std::vector<uint32_t> runnable_;
  // Blocked ranks by the time of what blocks them; entries of woken ranks are stale.
  std::priority_queue<std::pair<int64_t, uint32_t>,
                      std::vector<std::pair<int64_t, uint32_t>>, std::greater<>>
      blocked_;
};

// Merges pieces and arrivals of a rank. Arrivals before the window count at their real
// time, those after it at the time that the work in between takes.
void Replay::Prepare(size_t rank, const std::vector<OwnSpan>& spans) {
  const trace::Interval window = windows_.windows[rank];
  RankState& state = ranks_[rank];
  state.now_ns = window.start_ns - first_ns_;
  state.end_ns = state.now_ns;
  size_t span = 0;
  for (; span < spans.size() && spans[span].start_ns < window.start_ns; ++span) {
    Arrive(spans[span].collective, spans[span].start_ns - first_ns_);
  }
  int64_t done_ns = window.start_ns;
  const auto arrivals_until = [&](int64_t time_ns, bool works) {
    for (; span < spans.size() && spans[span].start_ns <= time_ns; ++span) {
      const int64_t at = spans[span].start_ns;
      state.events.push_back({at, works ? at - done_ns : 0, spans[span].collective});
      done_ns = at;
    }
  };
  for (const ActivityPiece& piece :
       PiecesOf(*windows_.traces[rank], windows_.corrections[rank], window, spans)) {
    const bool moves = piece.kind == Activity::kTransfer;
    const bool waits = piece.kind == Activity::kWait && piece.completes;
    const bool works = !moves && !waits;
    arrivals_until(piece.start_ns, true);
    if (moves) state.events.push_back({piece.start_ns, 0, kNone, piece.collective});
    arrivals_until(piece.end_ns - 1, works);
    if (waits) state.events.push_back({piece.end_ns, 0, kNone, piece.collective});
    if (works) state.events.push_back({piece.end_ns, piece.end_ns - done_ns});
    done_ns = piece.end_ns;
  }
  state.in_window = state.events.size();
  arrivals_until(std::numeric_limits<int64_t>::max(), true);
}

void Replay::Arrive(uint32_t collective, int64_t time_ns) {
  CollectiveState& of = collectives_[collective];
  of.ready_ns = std::max(of.ready_ns, time_ns);
  if (--of.missing > 0) return;
  runnable_.insert(runnable_.end(), of.waiting.begin(), of.waiting.end());
  of.waiting.clear();
}

void Replay::Advance(uint32_t rank) {
  RankState& state = ranks_[rank];
  for (; state.next < state.events.size(); ++state.next) {
    const Event& event = state.events[state.next];
    if (!state.advanced) state.now_ns += event.advance_ns;
    state.advanced = true;
    if (event.needs != kNone) {
      CollectiveState& of = collectives_[event.needs];
      if (of.missing > 0) {
        of.waiting.push_back(rank);
        blocked_.emplace(event.time_ns, rank);
        return;
      }
      state.now_ns = std::max(state.now_ns, of.ready_ns);
    }
    if (event.arrives != kNone) Arrive(event.arrives, state.now_ns);
    if (state.next < state.in_window) state.end_ns = state.now_ns;
    state.advanced = false;
  }
}

// Ranks can block each other where one left a collective a clock tolerance before the
// last arrived. The one blocked earliest goes on with the arrivals so far.
bool Replay::Force() {
  while (!blocked_.empty()) {
    const auto [time_ns, rank] = blocked_.top();
    blocked_.pop();
    RankState& state = ranks_[rank];
    if (state.next >= state.events.size()) continue;
    const Event& event = state.events[state.next];
    if (event.time_ns != time_ns || event.needs == kNone) continue;
    CollectiveState& of = collectives_[event.needs];
    if (of.missing <= 0) continue;
    std::erase(of.waiting, rank);
    state.now_ns = std::max(state.now_ns, of.ready_ns);
    state.advanced = false;
    if (state.next < state.in_window) state.end_ns = state.now_ns;
    ++state.next;
    runnable_.push_back(rank);
    return true;
  }
  return false;
}

}  // namespace

int64_t ReplayWithoutTransfer(const RankWindows& windows, const CrossRank& cross) {
  return Replay(windows, cross).Run();
}

}  // namespace stepslack::analyze

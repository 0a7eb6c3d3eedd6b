// What one rank does at every instant of a window, on the common clock: the ground that
// the critical path and the replay without transfers walk on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "stepslack/analyze/cross_rank.h"
#include "stepslack/trace/intervals.h"

namespace stepslack::analyze {

enum class Activity {
  kIdle,      // the device has nothing to do: the host is late
  kCompute,   // also with anything else at once
  kMemory,    // copies and sets without compute
  kWait,      // in a collective, before the last arriver; nothing else
  kTransfer,  // in a collective, after it; nothing else
  kOtherComm  // in communication that was not matched; nothing else
};

struct ActivityPiece {
  int64_t start_ns = 0;
  int64_t end_ns = 0;  // > start_ns
  Activity kind = Activity::kIdle;
  // Index into CrossRank::collectives for kWait (the one of several that is complete
  // first) and kTransfer (the one of several that was complete last).
  uint32_t collective = 0;
  bool completes = false;  // kWait: the last arriver came at end_ns
};

// A collective as one rank sees it: [start, ready) is its wait, [ready, end) transfer.
struct OwnSpan {
  int64_t start_ns = 0;
  int64_t ready_ns = 0;
  int64_t end_ns = 0;
  uint32_t collective = 0;
};

// Ranks in ascending order, and the part of each that is looked at.
struct RankWindows {
  std::vector<const RankTrace*> traces;
  std::vector<int64_t> corrections;
  std::vector<trace::Interval> windows;  // on the common clock
  bool steps = false;      // steps that all ranks have, else whole windows
  int64_t first_step = 0;  // when `steps`
  int64_t last_step = 0;

  size_t Dense(int32_t rank) const;  // of a rank that is there
  int64_t FirstNs() const;           // earliest start
  int64_t LastNs() const;            // latest end
};

// From the first to the last step number that every rank has, if all found their steps
// in the same way and, where steps are inferred, start them within half a step; else
// from the first to the last event.
RankWindows WindowsOf(std::span<const RankTrace> traces, const CrossRank& cross);

// By dense rank, by start.
std::vector<std::vector<OwnSpan>> SpansByRank(const RankWindows& windows,
                                              const CrossRank& cross);

// Pieces that cover the window of the rank without gaps. O(n log n).
std::vector<ActivityPiece> PiecesOf(const RankTrace& trace, int64_t correction,
                                    trace::Interval window,
                                    std::span<const OwnSpan> spans);

}  // namespace stepslack::analyze

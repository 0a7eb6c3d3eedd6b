// The chain of work that decided when the last rank finished. It is walked backwards:
// on a rank through its compute, copies, transfers and idle time, and from the moment a
// rank stopped waiting in a collective to the rank that arrived last, at its arrival
// (the backward walk of Barford and Crovella 2000, with collectives instead of
// packets).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stepslack/analyze/cross_rank.h"

namespace stepslack::analyze {

// ns on the path; the five add up to its length.
struct PathTimes {
  int64_t compute_ns = 0;
  int64_t memory_ns = 0;
  int64_t transfer_ns = 0;  // exposed, in matched collectives
  int64_t idle_ns = 0;      // nothing on the device: host
  // Communication that was not matched, a wait that something else cut short, or time
  // outside the window of the rank.
  int64_t unexplained_ns = 0;

  int64_t TotalNs() const {
    return compute_ns + memory_ns + transfer_ns + idle_ns + unexplained_ns;
  }
};

struct RankOnPath {
  int32_t rank = 0;
  PathTimes times;
};

// One stay of the path on a rank.
struct PathSegment {
  int32_t rank = 0;
  int64_t start_ns = 0;  // common clock
  int64_t end_ns = 0;
  PathTimes times;
  // How it ends: this rank arrived last at a collective that `next_rank` waited in. -1
  // in the last segment, where the path ends.
  int32_t next_rank = -1;
  std::string op;
  std::string group;
  int64_t seq = -1;
};

struct CriticalPath {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  PathTimes times;  // TotalNs() == end_ns - start_ns
  int64_t jumps = 0;
  std::vector<RankOnPath> by_rank;    // ranks with time on the path, most first
  std::vector<PathSegment> segments;  // the longest, in time order
  int64_t segments_omitted = 0;
};

struct CriticalPathOptions {
  size_t max_segments = 50;
};

struct CriticalPathResult {
  std::optional<CriticalPath> path;
  std::vector<std::string> reasons;  // why there is none
};

// Over the steps that all ranks have, else the whole windows. Needs `cross.waits`.
// O(n log n) in the intervals and spans of the ranks on the path.
CriticalPathResult FindCriticalPath(std::span<const RankTrace> traces,
                                    const CrossRank& cross,
                                    const CriticalPathOptions& options = {});

base::Json ToJson(const CriticalPathResult& result);

}  // namespace stepslack::analyze

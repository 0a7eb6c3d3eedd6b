// What is wrong within one process group, before it is known who is to blame.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "hang_groups.h"
#include "stepslack/analyze/hang_analysis.h"

namespace stepslack::analyze {

constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

// The first number under which members have entered different things while one of them
// still waits. `ranks` are the members that differ from a strict majority, `others` the
// majority; without one, `ranks` are all and `others` is empty.
std::optional<HangFinding> FindMismatch(const HangGroup& group);

// Members that have not entered a collective below `limit` that others wait in. Where
// all known members have, and one is not known, `ranks` is empty and `unknown` is not.
std::optional<HangFinding> FindMissing(const HangGroup& group, int64_t limit);

// Members that wait in the lowest number while others have finished it (`others`).
std::optional<HangFinding> FindNotCompleted(const HangGroup& group);

// One wait of a rank for its peer; certain when the two number their operations alike.
struct P2pWait {
  int32_t from = 0;
  int32_t to = 0;
  bool certain = false;
  HangFinding finding;
};
std::vector<P2pWait> FindP2pWaits(const HangGroup& group);

}  // namespace stepslack::analyze

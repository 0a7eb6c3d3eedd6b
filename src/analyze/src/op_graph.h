// Operations that wait for one another, and their replay with other durations.
//
// An operation starts when all operations it depends on have ended. One that belongs to
// no group ends its duration later. The operations of a group (a collective, or a send
// with its receive) begin to transfer together, when the last of them has started; each
// ends its own duration after that. A graph is replayed over several lanes at once:
// copies with equal dependencies (training steps) and durations of their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "stepslack/base/result.h"

namespace stepslack::analyze {

using OpIndex = uint32_t;

struct OpEdge {
  OpIndex before = 0;
  OpIndex after = 0;
};

class OpGraph {
 public:
  // `ops` operations 0..ops-1. Fails with ANL-0140 (a cycle; groups count as one), and
  // ANL-0141 (an index out of range, or an operation in two groups). O(ops + edges).
  static base::Result<OpGraph> Build(size_t ops, std::span<const OpEdge> edges,
                                     std::span<const std::vector<OpIndex>> groups);

  size_t ops() const { return group_of_.size(); }

  // durations_ns[op * lanes + lane] to end_ns[op * lanes + lane]; both have
  // ops() * lanes elements. Every lane begins at 0. Durations may be negative (clocks
  // that differ), sums must fit 64 bits.
  void Replay(std::span<const int64_t> durations_ns, size_t lanes,
              std::span<int64_t> end_ns) const;

 private:
  // One group, or one operation in no group, in an order that respects the edges.
  struct Unit {
    uint32_t first_member = 0;
    uint32_t members = 0;
    uint32_t first_dependency = 0;
    uint32_t dependencies = 0;
  };
  void SetUnits(size_t ops, std::span<const std::vector<OpIndex>> groups);
  bool Order(std::span<const OpEdge> edges);

  std::vector<uint32_t> group_of_;  // unit of an operation before ordering
  std::vector<Unit> units_;
  std::vector<OpIndex> members_;
  std::vector<OpIndex> dependencies_;  // of a unit's members, without repetition
};

// Last end of every lane; end_ns as from Replay, `ops` > 0.
std::vector<int64_t> LaneEnds(std::span<const int64_t> end_ns, size_t lanes);

}  // namespace stepslack::analyze

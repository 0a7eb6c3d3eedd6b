// How far the clocks of ranks differ, from the ends of collectives that no rank can
// leave before all have arrived: such a collective ends everywhere within the time of
// one message, so a constant difference of the ends is a difference of clocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace stepslack::analyze {

struct ClockMember {
  uint32_t rank = 0;  // dense index, below ClockSamples::ranks
  int64_t start_ns = 0;
  int64_t end_ns = 0;
};

// Matched, synchronising collectives as runs of members, each run by ascending rank.
struct ClockSamples {
  size_t ranks = 0;
  std::vector<ClockMember> members;
  std::vector<size_t> first;  // of each set, plus members.size() at the end

  size_t sets() const { return first.empty() ? 0 : first.size() - 1; }
  std::span<const ClockMember> Set(size_t set) const {
    return std::span(members).subspan(first[set], first[set + 1] - first[set]);
  }
};

struct ClockOptions {
  int64_t apply_above_ns = 50'000;
  // Ends may come this much before the last start without counting against causality.
  int64_t tolerance_ns = 5'000;
};

struct ClockEstimate {
  // Of this rank's clock against the (lower) median rank of its connected part:
  // subtract it to get the common clock. Absent: no collective links the rank to
  // another.
  std::vector<std::optional<int64_t>> offset_ns;
  std::vector<bool> applied;
  int64_t violations_before = 0;           // sets that end before their last start
  int64_t violations_after = 0;            // with the applied offsets removed
  std::optional<int64_t> residual_ns;      // median over sets of the spread of ends
  std::optional<int64_t> residual_max_ns;  // largest; both after applied offsets

  int64_t Correction(uint32_t rank) const {
    return applied[rank] ? *offset_ns[rank] : 0;
  }
};

// Offsets are solved over the graph of ranks and sets: breadth first from the rank with
// the most links by medians, then three sweeps of alternating medians (of sets given
// offsets, of offsets given sets). An offset above apply_above_ns is applied
//  * when removing all such offsets leaves fewer sets that break causality, and putting
//    this rank's back would break more again; or
//  * when it is 1 ms at least and constant: five sets or more, and half of them within
//    5 % of it. Ends of one host differ by order and by load, but not so.
// Once one is applied, the trace has several clocks, and smaller ones (above
// tolerance_ns) are applied under the same two conditions.
// O(sweeps * members).
ClockEstimate EstimateClocks(const ClockSamples& samples,
                             const ClockOptions& options = {});

// Lower median; `values` is reordered. Not for empty input.
int64_t LowerMedian(std::vector<int64_t>& values);

}  // namespace stepslack::analyze

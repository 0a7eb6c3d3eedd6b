// Exact integer interval sets: the arithmetic behind overlap and exposed communication.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace stepslack::trace {

// Half-open [start_ns, end_ns); empty when end_ns <= start_ns.
struct Interval {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  friend bool operator==(const Interval&, const Interval&) = default;
};

// A set of instants as sorted, disjoint, non-touching, non-empty intervals. Operations
// between two sets cost the sum of their sizes.
class IntervalSet {
 public:
  IntervalSet() = default;
  // Any order, overlaps allowed; empty intervals vanish. O(n log n).
  explicit IntervalSet(std::vector<Interval> intervals);

  const std::vector<Interval>& intervals() const { return intervals_; }
  bool empty() const { return intervals_.empty(); }
  int64_t LengthNs() const;

  IntervalSet Union(const IntervalSet& other) const;
  IntervalSet Intersection(const IntervalSet& other) const;
  IntervalSet Difference(const IntervalSet& other) const;
  IntervalSet Clip(Interval window) const;  // O(log n + result)

  friend bool operator==(const IntervalSet&, const IntervalSet&) = default;

 private:
  void AppendSorted(const std::vector<Interval>& sorted);  // non-empty, by start
  std::vector<Interval> intervals_;
};

// Length of [a.start, a.end) and [b.start, b.end) in common.
int64_t OverlapNs(Interval a, Interval b);

}  // namespace stepslack::trace

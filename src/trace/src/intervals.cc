#include "stepslack/trace/intervals.h"

#include <algorithm>

namespace stepslack::trace {

namespace {

bool StartsBefore(const Interval& a, const Interval& b) {
  return a.start_ns < b.start_ns;
}

}  // namespace

IntervalSet::IntervalSet(std::vector<Interval> intervals) {
  std::erase_if(intervals, [](const Interval& i) { return i.end_ns <= i.start_ns; });
  // Most callers walk a store, which is in order already.
  if (!std::is_sorted(intervals.begin(), intervals.end(), StartsBefore)) {
    std::sort(intervals.begin(), intervals.end(), StartsBefore);
  }
  AppendSorted(intervals);
}

void IntervalSet::AppendSorted(const std::vector<Interval>& sorted) {
  for (const Interval& next : sorted) {
    if (!intervals_.empty() && next.start_ns <= intervals_.back().end_ns) {
      intervals_.back().end_ns = std::max(intervals_.back().end_ns, next.end_ns);
    } else {
      intervals_.push_back(next);
    }
  }
}

int64_t IntervalSet::LengthNs() const {
  int64_t total = 0;
  for (const Interval& i : intervals_) total += i.end_ns - i.start_ns;
  return total;
}

IntervalSet IntervalSet::Union(const IntervalSet& other) const {
  std::vector<Interval> all(intervals_.size() + other.intervals_.size());
  std::merge(intervals_.begin(), intervals_.end(), other.intervals_.begin(),
             other.intervals_.end(), all.begin(), StartsBefore);
  IntervalSet result;
  result.AppendSorted(all);
  return result;
}

IntervalSet IntervalSet::Intersection(const IntervalSet& other) const {
  IntervalSet result;
  size_t a = 0;
  size_t b = 0;
  while (a < intervals_.size() && b < other.intervals_.size()) {
    const Interval& left = intervals_[a];
    const Interval& right = other.intervals_[b];
    const Interval common{std::max(left.start_ns, right.start_ns),
                          std::min(left.end_ns, right.end_ns)};
    if (common.start_ns < common.end_ns) result.intervals_.push_back(common);
    if (left.end_ns < right.end_ns) {
      ++a;
    } else {
      ++b;
    }
  }
  return result;
}

IntervalSet IntervalSet::Difference(const IntervalSet& other) const {
  IntervalSet result;
  size_t b = 0;
  for (const Interval& left : intervals_) {
    int64_t from = left.start_ns;
    while (b < other.intervals_.size() && other.intervals_[b].end_ns <= from) ++b;
    // One interval of `other` may cut several of ours: advance a copy of the index.
    for (size_t cut = b; cut < other.intervals_.size(); ++cut) {
      const Interval& hole = other.intervals_[cut];
      if (hole.start_ns >= left.end_ns) break;
      if (from < hole.start_ns) result.intervals_.push_back({from, hole.start_ns});
      from = std::max(from, hole.end_ns);
    }
    if (from < left.end_ns) result.intervals_.push_back({from, left.end_ns});
  }
  return result;
}

IntervalSet IntervalSet::Clip(Interval window) const {
  IntervalSet result;
  const auto ends_before = [](const Interval& i, int64_t t) { return i.end_ns <= t; };
  auto next = std::lower_bound(intervals_.begin(), intervals_.end(), window.start_ns,
                               ends_before);
  for (; next != intervals_.end() && next->start_ns < window.end_ns; ++next) {
    const Interval part{std::max(next->start_ns, window.start_ns),
                        std::min(next->end_ns, window.end_ns)};
    if (part.start_ns < part.end_ns) result.intervals_.push_back(part);
  }
  return result;
}

int64_t OverlapNs(Interval a, Interval b) {
  const int64_t start = std::max(a.start_ns, b.start_ns);
  const int64_t end = std::min(a.end_ns, b.end_ns);
  return end > start ? end - start : 0;
}

}  // namespace stepslack::trace

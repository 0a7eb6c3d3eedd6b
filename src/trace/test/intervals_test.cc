#include "stepslack/trace/intervals.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bitset>
#include <utility>

namespace stepslack::trace {
namespace {

using List = std::vector<Interval>;

TEST(Intervals, OverlappingAndTouchingSpansMerge) {
  const IntervalSet set(List{{20, 30}, {0, 10}, {10, 15}, {25, 40}, {50, 50}, {9, 3}});
  EXPECT_EQ(set.intervals(), (List{{0, 15}, {20, 40}}));
  EXPECT_EQ(set.LengthNs(), 35);
}

TEST(Intervals, DifferenceCutsHolesOutOfEachSpan) {
  const IntervalSet comm(List{{10, 30}, {40, 60}});
  const IntervalSet compute(List{{0, 12}, {15, 20}, {25, 45}, {59, 70}});
  EXPECT_EQ(comm.Difference(compute).intervals(), (List{{12, 15}, {20, 25}, {45, 59}}));
  EXPECT_EQ(comm.Intersection(compute).LengthNs(), 2 + 5 + 5 + 5 + 1);
}

TEST(Intervals, OneHoleMayCoverSeveralSpans) {
  const IntervalSet spans(List{{0, 5}, {6, 8}, {10, 20}});
  EXPECT_EQ(spans.Difference(IntervalSet(List{{3, 15}})).intervals(),
            (List{{0, 3}, {15, 20}}));
}

TEST(Intervals, ClipKeepsOnlyTheWindow) {
  const IntervalSet spans(List{{0, 5}, {6, 8}, {10, 20}});
  EXPECT_EQ(spans.Clip({4, 12}).intervals(), (List{{4, 5}, {6, 8}, {10, 12}}));
  EXPECT_TRUE(spans.Clip({8, 8}).empty());
}

TEST(Intervals, OverlapOfTwoSpans) {
  EXPECT_EQ(OverlapNs({0, 10}, {5, 20}), 5);
  EXPECT_EQ(OverlapNs({0, 10}, {10, 20}), 0);
  EXPECT_EQ(OverlapNs({0, 10}, {2, 3}), 1);
}

// The same sets as 64 bits: every operation must agree with bit arithmetic.
using Bits = std::bitset<64>;

Bits ToBits(const List& list) {
  Bits bits;
  for (const Interval& i : list) {
    for (int64_t t = i.start_ns; t < i.end_ns; ++t) bits.set(static_cast<size_t>(t));
  }
  return bits;
}

List Generate() {
  List list;
  for (const auto& [start, length] :
       *rc::gen::container<std::vector<std::pair<int, int>>>(
           rc::gen::pair(rc::gen::inRange(0, 50), rc::gen::inRange(0, 14)))) {
    list.push_back({start, start + length});
  }
  return list;
}

RC_GTEST_PROP(IntervalsProperty, OperationsAgreeWithBitArithmetic, ()) {
  const List a = Generate();
  const List b = Generate();
  const IntervalSet set_a(a);
  const IntervalSet set_b(b);
  RC_ASSERT(ToBits(set_a.intervals()) == ToBits(a));
  RC_ASSERT(ToBits(set_a.Union(set_b).intervals()) == (ToBits(a) | ToBits(b)));
  RC_ASSERT(ToBits(set_a.Intersection(set_b).intervals()) == (ToBits(a) & ToBits(b)));
  RC_ASSERT(ToBits(set_a.Difference(set_b).intervals()) == (ToBits(a) & ~ToBits(b)));
  RC_ASSERT(set_a.LengthNs() == static_cast<int64_t>(ToBits(a).count()));
  // Canonical form: equal sets are equal objects.
  RC_ASSERT(set_a.Union(set_b) == set_b.Union(set_a));
  RC_ASSERT(set_a.Difference(set_b).Union(set_a.Intersection(set_b)) == set_a);
}

}  // namespace
}  // namespace stepslack::trace

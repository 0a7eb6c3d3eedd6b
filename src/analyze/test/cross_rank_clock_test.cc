#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "clock_offsets.h"
#include "made_ranks.h"
#include "stepslack/analyze/cross_rank.h"
#include "stepslack/base/random.h"

namespace stepslack::analyze {
namespace {

// A run on one true clock: every rank computes up to 2 ms, then takes part in a
// collective that ends `transfer` after the last arrival, give or take `jitter` ns.
// `sub_groups`: pairs of neighbours, then all even and all odd ranks, in turn; else
// all.
std::vector<RankTrace> SimulatedRun(size_t ranks, int64_t collectives, bool sub_groups,
                                    int64_t jitter, uint64_t seed) {
  base::Random random(seed);
  std::vector<int64_t> now(ranks, 1'000'000'000);
  std::vector<std::vector<MadeSpan>> spans(ranks);
  std::vector<std::vector<trace::Interval>> compute(ranks);
  static const std::string kNames[] = {"p0", "p1", "p2", "p3", "even", "odd", "0"};
  for (int64_t k = 0; k < collectives; ++k) {
    std::vector<std::vector<size_t>> groups;
    std::vector<size_t> names;
    if (!sub_groups) {
      groups.emplace_back();
      for (size_t r = 0; r < ranks; ++r) groups[0].push_back(r);
      names = {6};
    } else if (k % 2 == 0) {
      for (size_t r = 0; r + 1 < ranks; r += 2) groups.push_back({r, r + 1});
      names = {0, 1, 2, 3};
    } else {
      groups.resize(2);
      for (size_t r = 0; r < ranks; ++r) groups[r % 2].push_back(r);
      names = {4, 5};
    }
    for (size_t g = 0; g < groups.size(); ++g) {
      int64_t last = 0;
      for (const size_t r : groups[g]) {
        const int64_t work = static_cast<int64_t>(random.Below(2'000'000));
        compute[r].push_back({now[r], now[r] + work});
        now[r] += work;
        last = std::max(last, now[r]);
      }
      const int64_t end = last + 20'000 + static_cast<int64_t>(random.Below(200'000));
      for (const size_t r : groups[g]) {
        const int64_t own_end =
            end + static_cast<int64_t>(random.Below(static_cast<uint64_t>(jitter) + 1));
        spans[r].push_back({now[r], own_end, k, "all_reduce", kNames[names[g]], 1 << 20,
                            static_cast<int64_t>(groups[g].size())});
        now[r] = own_end;
      }
    }
  }
  std::vector<RankTrace> made;
  for (size_t r = 0; r < ranks; ++r) {
    made.push_back(MadeRank(static_cast<int32_t>(r), static_cast<int64_t>(ranks),
                            spans[r], compute[r]));
  }
  return made;
}

void ExpectSameWithin(const CrossRank& a, const CrossRank& b, int64_t bound) {
  RC_ASSERT(a.waits.has_value());
  RC_ASSERT(b.waits.has_value());
  RC_ASSERT(b.refused == 0);
  RC_ASSERT(a.collectives.size() == b.collectives.size());
  const auto key = [](const MatchedCollective& c) { return std::pair(c.group, c.seq); };
  for (const MatchedCollective& x : a.collectives) {
    const auto y = std::find_if(b.collectives.begin(), b.collectives.end(),
                                [&](const auto& c) { return key(c) == key(x); });
    RC_ASSERT(y != b.collectives.end());
    for (size_t r = 0; r < x.ranks.size(); ++r) {
      RC_ASSERT(std::llabs(x.ranks[r].wait_ns - y->ranks[r].wait_ns) <= bound);
      RC_ASSERT(std::llabs(x.ranks[r].transfer_ns - y->ranks[r].transfer_ns) <= bound);
      for (size_t s = 0; s < x.ranks.size(); ++s) {
        // Whoever was clearly earlier still is.
        if (x.ranks[r].start_ns + bound < x.ranks[s].start_ns) {
          RC_ASSERT(y->ranks[r].start_ns < y->ranks[s].start_ns);
        }
      }
    }
  }
}

RC_GTEST_PROP(CrossRankClocks, ShiftedClocksDoNotChangeWaitsBeyondTheResidual, ()) {
  const bool sub_groups = *rc::gen::arbitrary<bool>();
  const size_t ranks = sub_groups ? 2 * *rc::gen::inRange<size_t>(2, 5)
                                  : *rc::gen::inRange<size_t>(2, 9);
  const int64_t jitter = *rc::gen::inRange<int64_t>(0, 4'000);
  const auto truth = SimulatedRun(ranks, *rc::gen::inRange<int64_t>(8, 30), sub_groups,
                                  jitter, *rc::gen::arbitrary<uint64_t>());
  std::vector<RankTrace> shifted;
  for (const RankTrace& rank : truth) {
    int64_t by = 0;
    if (*rc::gen::arbitrary<bool>()) {
      // Between the two, an offset is too small to be removed and large enough to break
      // causality where transfers are short: such collectives are refused, not
      // repaired.
      by = *rc::gen::arbitrary<bool>()
               ? *rc::gen::inRange<int64_t>(0, 1'000)
               : *rc::gen::inRange<int64_t>(
                     200'000, *rc::gen::element<int64_t>(10'000'000, 10'000'000'000));
      if (*rc::gen::arbitrary<bool>()) by = -by;
    }
    shifted.push_back(OnOtherClock(rank, by));
  }
  const CrossRank before = MeasureCrossRank(truth);
  const CrossRank after = MeasureCrossRank(shifted);
  for (const ClockOffset& offset : before.clock_offsets) RC_ASSERT(!offset.applied);
  RC_ASSERT(*before.clock_residual_max_ns <= jitter);
  // A chain of groups adds up: at most one residual each for a rank and for the last.
  ExpectSameWithin(before, after, 2 * (*after.clock_residual_max_ns + jitter));
}

RC_GTEST_PROP(CrossRankClocks, MillisecondsAndMoreAreFoundAndRemoved, ()) {
  const auto truth = SimulatedRun(8, 12, *rc::gen::arbitrary<bool>(), 3'000,
                                  *rc::gen::arbitrary<uint64_t>());
  std::vector<RankTrace> shifted;
  std::vector<int64_t> by(8, 0);
  for (size_t r = 0; r < 8; ++r) {
    if (r >= 5) {  // fewer than half, so that the others' clock is the common one
      by[r] = *rc::gen::inRange<int64_t>(5'000'000, 10'000'000'000);
      if (*rc::gen::arbitrary<bool>()) by[r] = -by[r];
    }
    shifted.push_back(OnOtherClock(truth[r], by[r]));
  }
  const CrossRank cross = MeasureCrossRank(shifted);
  for (size_t r = 0; r < 8; ++r) {
    RC_ASSERT(cross.clock_offsets[r].offset_ns.has_value());
    RC_ASSERT(std::llabs(*cross.clock_offsets[r].offset_ns - by[r]) <= 10'000);
    RC_ASSERT(cross.clock_offsets[r].applied == (by[r] != 0));
  }
  RC_ASSERT(*cross.clock_residual_max_ns <= 20'000);
}

TEST(CrossRankClocks, OffsetsOfOneHostAreReportedAndNotApplied) {
  auto ranks = SimulatedRun(2, 9, false, 0, 5);
  ranks[1] = OnOtherClock(ranks[1], 7'000);
  const CrossRank cross = MeasureCrossRank(ranks);
  EXPECT_EQ(cross.clock_offsets[1].offset_ns, 7'000);
  EXPECT_FALSE(cross.clock_offsets[1].applied);
  EXPECT_EQ(cross.clock_residual_ns, 7'000);
  EXPECT_EQ(cross.clock_tolerance_ns, 7'000);
}

TEST(CrossRankClocks, ARankThatNoCollectiveLinksHasNoOffset) {
  const std::vector<RankTrace> ranks = {
      MadeRank(0, 3, {{0, 100, 0, "all_reduce", "a", 0, 2}}),
      MadeRank(1, 3, {{50, 100, 0, "all_reduce", "a", 0, 2}}), MadeRank(2, 3, {})};
  const CrossRank cross = MeasureCrossRank(ranks);
  EXPECT_TRUE(cross.clock_offsets[0].offset_ns.has_value());
  EXPECT_FALSE(cross.clock_offsets[2].offset_ns.has_value());
  EXPECT_FALSE(cross.clock_offsets[2].applied);
}

TEST(CrossRankClocks, RanksRecordedOneStepApartAreNotMatchedByOrder) {
  // One all-reduce a step, no numbers. Rank 0 has steps 1 to 3, rank 1 has 2 to 4: by
  // order they fit perfectly on clocks that differ by one step.
  constexpr int64_t kStep = 10'000'000;
  std::vector<std::vector<MadeSpan>> spans(2);
  for (int64_t k = 0; k < 3; ++k) {
    for (const int64_t r : {0, 1}) {
      const int64_t at = (k + r) * kStep;
      spans[static_cast<size_t>(r)].push_back({at + 5'000'000, at + 6'000'000});
    }
  }
  std::vector<RankTrace> ranks = {MadeRank(0, 2, spans[0]), MadeRank(1, 2, spans[1])};
  EXPECT_TRUE(MeasureCrossRank(ranks).waits.has_value());  // nothing shows it yet
  for (const int64_t r : {0, 1}) {
    for (int64_t k = 0; k < 3; ++k) {
      const int64_t at = (k + r) * kStep;
      AddStep(ranks[static_cast<size_t>(r)], 1 + k + r, at, at + kStep);
    }
  }
  const CrossRank cross = MeasureCrossRank(ranks);
  EXPECT_FALSE(cross.waits.has_value());
  ASSERT_EQ(cross.reasons.size(), 1u);
  EXPECT_NE(cross.reasons[0].find("step 2 of rank"), std::string::npos)
      << cross.reasons[0];
}

TEST(CrossRankClocks, NoisyEndsAreNoClock) {
  // Rank 1 ends 0 to 4 ms after rank 0, by load: the median is not constant.
  ClockSamples samples;
  samples.ranks = 2;
  for (int64_t k = 0; k < 9; ++k) {
    samples.first.push_back(samples.members.size());
    samples.members.push_back({0, k * 100'000'000, k * 100'000'000 + 20'000'000});
    samples.members.push_back(
        {1, k * 100'000'000, k * 100'000'000 + 20'000'000 + k * 500'000});
  }
  samples.first.push_back(samples.members.size());
  const ClockEstimate clocks = EstimateClocks(samples);
  EXPECT_EQ(clocks.violations_before, 0);
  EXPECT_GT(std::llabs(*clocks.offset_ns[1]), 1'000'000);
  EXPECT_FALSE(clocks.applied[1]);
}

}  // namespace
}  // namespace stepslack::analyze

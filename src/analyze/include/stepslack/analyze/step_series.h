// Step times over ranks and steps: which steps are warm-up, where the level changes,
// and whether one rank is slow all the time.
//
// A step time is the length of the step on a rank, end minus start on its own clock.
// Synchronised ranks have nearly the same step times, because all wait for the slowest;
// what a rank itself took is its own time: step time minus exposed communication.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stepslack/analyze/rank_trace.h"
#include "stepslack/base/json.h"
#include "stepslack/stats/change_points.h"

namespace stepslack::analyze {

struct StepPoint {
  int64_t step = 0;
  int64_t max_ns = 0;         // step time of the slowest rank
  int64_t median_ns = 0;      // lower median over ranks
  int32_t slowest_rank = -1;  // -1: a tie
  int64_t max_own_ns = 0;     // own time
  int32_t most_own_rank = -1;
};

struct StepChange {
  int64_t step = 0;  // the first at the new level
  double before_ns = 0;
  double after_ns = 0;
  double p = 0;
};

// A rank that has the most own time in more than half of the steps.
struct PersistentRank {
  int32_t rank = -1;
  int64_t steps_slowest = 0;     // more own time than every other rank
  int64_t steps = 0;             // after warm-up, ties left out
  double p = 1;                  // one-sided sign test, times the number of ranks
  int64_t median_excess_ns = 0;  // own time minus the median rank's, median over steps
};

struct StepSeries {
  std::vector<StepPoint> steps;  // those that all ranks have, ascending
  int64_t warmup_steps = 0;
  std::optional<int64_t> median_ns;  // of max_ns after warm-up
  std::vector<StepChange> changes;   // of max_ns after warm-up
  std::optional<PersistentRank> persistent;
  std::vector<std::string> reasons;  // why steps or persistent are absent
};

struct StepSeriesOptions {
  double warmup_within = 0.10;  // of the median of the rest
  double alpha = 0.01;
  double min_relative_change = 0.02;
  stats::ChangePointOptions changes = {};  // its alpha and minimum are those above
};

// Warm-up: the first w steps, w the smallest for which the step time of step w and the
// median of the three steps from it on are both within `warmup_within` of the median of
// all steps from it on; at most a quarter of the steps.
// Persistent: the rank with the largest median own time, if it has the most own time in
// so many steps that p <= alpha under a fair coin (two-way ties left out).
StepSeries MeasureSteps(std::span<const RankTrace> traces,
                        const StepSeriesOptions& options = {});

base::Json ToJson(const StepSeries& series, size_t max_steps = 2000);

}  // namespace stepslack::analyze

// Time to a target quality over seeds, censored runs included.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "stepslack/base/estimate.h"
#include "stepslack/record/run_record.h"
#include "stepslack/stats/survival.h"

namespace stepslack::analyze {

struct LabelledRun {
  std::string label;                       // "seed 1"
  const record::RunRecord* run = nullptr;  // must exist
};

// The target was reached in (seconds_low, seconds_high]; a run that did not reach it
// was watched until seconds_low.
struct TargetTime {
  std::string label;
  bool reached = false;
  bool failed = false;  // the run ended with an error
  double seconds_low = 0;
  double seconds_high = 0;  // equal to seconds_low when not reached
  int64_t samples = 0;      // to the target, or in all
  double evaluation_share = 0;
};

struct TimeToAccuracy {
  double target = 0;  // of `metric`
  std::string metric;
  std::vector<TargetTime> runs;  // in the order given
  int64_t reached = 0;
  // All reached: geometric mean, t interval on logs, of the time at the evaluation that
  // saw the target (never too early). Else: Kaplan-Meier median.
  base::Estimate seconds;
  base::Estimate seconds_before;  // the same for the evaluation before: the other end
  base::Estimate samples;
  base::Estimate success_share;     // Clopper-Pearson
  base::Estimate evaluation_share;  // of training time
  stats::SurvivalCurve curve;       // share of runs still on their way, by seconds
};

TimeToAccuracy ComputeTimeToAccuracy(std::span<const LabelledRun> runs, double target,
                                     std::string metric, double confidence = 0.95);

base::Json ToJson(const TimeToAccuracy& report);  // "stepslack.time_to_accuracy/1"

}  // namespace stepslack::analyze

// The complete state of training between two steps, in one file that is replaced
// atomically: a killed process leaves the previous checkpoint intact.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "map_set.h"
#include "state_view.h"
#include "stepslack/base/result.h"
#include "stepslack/model/network.h"
#include "stepslack/record/train_plan.h"

namespace stepslack::train {

// Time to target, carried over restarts.
struct TargetWatch {
  bool reached = false;
  double seconds_to = 0;
  double seconds_before = 0;
  int64_t samples_to = 0;
  double last_eval_seconds = 0;
};

// Everything besides parameters and optimizer moments. The sample order, augmentation
// and schedule are functions of (plan, samples), so the cursor is the sample count
// alone and no generator state has to be kept.
struct TrainCursor {
  int64_t steps = 0;
  int64_t samples = 0;
  int restarts = 0;
  double train_seconds = 0;
  int64_t tuned_bucket_bytes = 0;  // 0: not tuned, or not yet
  std::vector<double> rank_cpu_seconds;
  TargetWatch target;
};

// SHA-256 of the plan's JSON, without what can not change the parameters (time-out,
// trace, checkpoint interval unless compression collects its residual then, injected
// faults).
std::string PlanDigest(const record::TrainPlan& plan);

base::Status SaveCheckpoint(const std::string& path, const record::TrainPlan& plan,
                            const TrainCursor& cursor, const Encoding& encoding,
                            model::Network& network, std::span<const StateView> views);

// Restores the network and every array of `views`. Errors: TRAIN-0010 written by
// another plan, TRAIN-0011 does not fit this network, MODEL-0004 damaged.
struct Restored {
  TrainCursor cursor;
  Encoding encoding;
};
base::Result<Restored> LoadCheckpoint(const std::string& path,
                                      const record::TrainPlan& plan,
                                      model::Network& network,
                                      std::span<const StateView> views);

}  // namespace stepslack::train

// Learning rate as a function of samples, never of steps, so that another batch size or
// world size follows the same curve.
#pragma once

#include <cstdint>

#include "stepslack/record/train_plan.h"

namespace stepslack::train {

enum class Decay { kCosine, kLinear, kConstant };  // after the warm-up

struct Schedule {
  double peak = 0;
  int64_t warmup_samples = 0;
  int64_t total_samples = 1;
  Decay decay = Decay::kCosine;
};

// The schedule of a plan that CheckPlan accepts. Its peak is plan.learning_rate times
// the ratio of global_batch to reference_batch ("linear", Goyal et al. 2017), the root
// of that ratio ("sqrt", Krizhevsky 2014) or 1 ("none", or no reference_batch).
Schedule ScheduleOf(const record::TrainPlan& plan);

// Rate for the batch that begins after `done` samples and has `batch` of them: linear
// warm-up, then half a cosine or a straight line down to zero at total_samples, or the
// peak throughout.
double LearningRate(const Schedule& schedule, int64_t done, int64_t batch);

}  // namespace stepslack::train

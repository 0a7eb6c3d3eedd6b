// Learning rate as a function of samples, never of steps, so that another batch size or
// world size follows the same curve.
#pragma once

#include <cstdint>

namespace stepslack::train {

struct Schedule {
  double peak = 0;
  int64_t warmup_samples = 0;
  int64_t total_samples = 1;
};

// Rate for the batch that begins after `done` samples and has `batch` of them: linear
// warm-up, then half a cosine down to zero at total_samples.
double LearningRate(const Schedule& schedule, int64_t done, int64_t batch);

}  // namespace stepslack::train

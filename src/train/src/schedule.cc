#include "schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace stepslack::train {

double LearningRate(const Schedule& schedule, int64_t done, int64_t batch) {
  if (done < schedule.warmup_samples) {
    const double reached = static_cast<double>(done + batch) /
                           static_cast<double>(schedule.warmup_samples);
    return schedule.peak * std::min(1.0, reached);
  }
  const int64_t span =
      std::max<int64_t>(1, schedule.total_samples - schedule.warmup_samples);
  const double position =
      static_cast<double>(done - schedule.warmup_samples) / static_cast<double>(span);
  return schedule.peak * 0.5 *
         (1.0 + std::cos(std::numbers::pi * std::clamp(position, 0.0, 1.0)));
}

}  // namespace stepslack::train

#include "schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace stepslack::train {

Schedule ScheduleOf(const record::TrainPlan& plan) {
  Schedule schedule{plan.learning_rate, plan.warmup_samples, plan.samples,
                    Decay::kCosine};
  if (plan.schedule == "linear") schedule.decay = Decay::kLinear;
  if (plan.schedule == "constant") schedule.decay = Decay::kConstant;
  if (plan.reference_batch > 0) {
    const double ratio = static_cast<double>(plan.global_batch) /
                         static_cast<double>(plan.reference_batch);
    if (plan.learning_rate_scaling == "linear") schedule.peak *= ratio;
    if (plan.learning_rate_scaling == "sqrt") schedule.peak *= std::sqrt(ratio);
  }
  return schedule;
}

double LearningRate(const Schedule& schedule, int64_t done, int64_t batch) {
  if (done < schedule.warmup_samples) {
    const double reached = static_cast<double>(done + batch) /
                           static_cast<double>(schedule.warmup_samples);
    return schedule.peak * std::min(1.0, reached);
  }
  const int64_t span =
      std::max<int64_t>(1, schedule.total_samples - schedule.warmup_samples);
  const double position = std::clamp(
      static_cast<double>(done - schedule.warmup_samples) / static_cast<double>(span),
      0.0, 1.0);
  switch (schedule.decay) {
    case Decay::kConstant:
      return schedule.peak;
    case Decay::kLinear:
      return schedule.peak * (1.0 - position);
    case Decay::kCosine:
      break;
  }
  return schedule.peak * 0.5 * (1.0 + std::cos(std::numbers::pi * position));
}

}  // namespace stepslack::train

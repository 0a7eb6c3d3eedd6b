// Everything that is measured from the runs of a review, each number from records and
// artifacts of these runs alone.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "data_stages.h"
#include "quality_stage.h"
#include "stepslack/analyze/effects.h"
#include "stepslack/analyze/overfit.h"
#include "stepslack/analyze/phases.h"
#include "stepslack/analyze/reproducibility.h"
#include "stepslack/analyze/scaling.h"
#include "stepslack/analyze/time_to_accuracy.h"
#include "stepslack/analyze/timeline.h"
#include "train_stages.h"

namespace stepslack::review {

// What one map costs by the model and by the exact solver that made its label.
struct LatencyComparison {
  base::Estimate model_ms;  // one thread, batch of one, wall
  base::Estimate model_cpu_ms;
  std::optional<base::Estimate> solver_ms;  // absent: labels were not made here
  std::optional<base::Estimate> solver_cpu_ms;
  std::optional<base::Estimate> ratio;  // model over solver, wall
};

struct Measurements {
  QualityResults quality;
  analyze::CommsProfile profile;
  analyze::Timeline timeline;
  analyze::ScalingReport scaling;
  analyze::TimeToAccuracy time_to_accuracy;
  analyze::Reproducibility reproducibility;
  std::optional<analyze::Effect> augmentation;
  std::string augmentation_problem;  // why there is no effect
  analyze::TrialTable trials;
  analyze::Overfit overfit;
  LatencyComparison latency;
  std::optional<base::Estimate> steal_share;  // of CPU time, while ranks were running
  std::vector<std::string> trace_problems;    // traces that could not be read
};

base::Result<Measurements> Measure(StageRunner& runner, const ReviewConfig& config,
                                   const DataStages& data, const TrainStages& runs);

// The strong (weak) scaling point with more than one rank; null when there is none.
const analyze::ScalingPoint* FindPoint(const analyze::ScalingReport& report,
                                       analyze::ScalingRule rule);

}  // namespace stepslack::review

// Overfitting seen from the records: the gap between training and validation, and the
// drift of validation after its best point.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stepslack/analyze/time_to_accuracy.h"
#include "stepslack/base/estimate.h"

namespace stepslack::analyze {

struct OverfitRun {
  std::string label;
  int64_t evaluations = 0;
  double best_metric = 0;  // lowest relative MAE
  int64_t best_step = 0;   // first evaluation that had it
  double last_metric = 0;
  int64_t last_step = 0;
  std::optional<double> drift;  // last / best - 1
  double last_validation_loss = 0;
  std::optional<double> final_train_loss;  // mean over the last tenth of steps, >= 1
  std::optional<double> gap;               // validation loss / train loss - 1
};

struct Overfit {
  std::vector<OverfitRun> runs;
  base::Estimate drift;  // mean over runs; 0: the last evaluation was the best
  base::Estimate gap;    // mean over runs; train loss is in training mode, augmented
};

Overfit ComputeOverfit(std::span<const LabelledRun> runs, double confidence = 0.95);

base::Json ToJson(const Overfit& overfit);  // "stepslack.overfit/1"

}  // namespace stepslack::analyze

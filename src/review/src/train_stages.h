// The training runs of a review: seeds, the careless split, augmentation off, the small
// hyperparameter study, the same seed twice, and the scaling runs.
#pragma once

#include <string>
#include <vector>

#include "data_stages.h"
#include "stage_runner.h"
#include "stepslack/record/run_record.h"
#include "stepslack/review/review_config.h"
#include "stepslack/study/launcher.h"

namespace stepslack::review {

struct FoldRun {
  size_t fold = 0;
  uint64_t seed = 0;
  record::RunRecord run;
};

struct TuneRun {
  double learning_rate = 0;
  record::RunRecord run;
};

// One configuration of the scaling study; runs[i] of all groups ran next to each other.
struct ScaleRuns {
  int world_size = 1;
  int64_t global_batch = 0;
  int64_t per_rank_batch = 0;
  bool weak = false;
  bool synchronise = true;
  std::vector<record::RunRecord> runs;
};

struct TrainStages {
  record::TrainPlan reference_plan;  // fold 0, first seed
  std::vector<FoldRun> honest;
  std::vector<FoldRun> naive;
  std::vector<FoldRun> without_augmentation;  // same folds and seeds as honest, fold 0
  std::vector<TuneRun> tune;
  record::RunRecord repeat_a, repeat_b;  // same plan, same seed
  std::vector<ScaleRuns> scale;
};

// Number of the step after which the first evaluation happens.
int64_t FirstEvaluationStep(const record::TrainPlan& plan);

base::Result<TrainStages> RunTrainStages(StageRunner& runner,
                                         const ReviewConfig& config,
                                         const DataStages& data,
                                         const study::Launcher& launcher);

}  // namespace stepslack::review

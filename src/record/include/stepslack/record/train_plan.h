// The plan of one training run, written by whoever starts it (`study`, or a user) and
// read by every rank of the worker. Schema "stepslack.train_plan/1", JSON.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "stepslack/base/json.h"

namespace stepslack::record {

struct TrainPlan {
  // Data: float32 .npy files, inputs [n, channels, height, width], targets
  // [n, height, width] in mV; index lists refer to n. Channel 0 is the current map,
  // whose per-sample mean scales the target (the drop is linear in the current).
  std::string inputs_path;
  std::string targets_path;
  std::vector<int64_t> train_indices;
  std::vector<int64_t> validation_indices;  // watched while training
  std::vector<int64_t> test_indices;        // predicted once, at the end; may name
                                            // validation ones, never train ones
  std::vector<int> categorical_channels;    // one-hot encoded with these...
  std::vector<int> category_counts;         // ...numbers of classes
  bool augment = true;                      // flips of both axes: 4 versions of a map
  // Quarter turns as well: 8 versions. Sound only where both directions of the grid
  // conduct alike; standard-cell rails do not.
  bool augment_turns = false;

  // Model.
  std::string model = "unet";
  int base_channels = 16;
  int levels = 5;  // maps must be multiples of 2^(levels - 1)

  // Optimisation; schedule positions are counted in samples, never in steps.
  int64_t global_batch = 8;  // split over ranks; need not divide evenly
  int64_t samples = 3000;    // training samples consumed in all
  double learning_rate = 2e-3;
  double weight_decay = 1e-4;
  int64_t warmup_samples = 300;
  double clip_norm = 1.0;  // global gradient norm; 0: off
  uint64_t seed = 1;

  // Evaluation and target. Metric: relative MAE = sum |error| / sum |target|
  // (validation).
  int64_t eval_every_samples = 500;
  double target_relative_mae = 0.3;  // <= 0: no target
  bool predict_test = true;

  // Communication.
  int64_t first_bucket_bytes = 64 << 10;
  int64_t bucket_bytes = 1 << 20;
  bool overlap = true;          // all-reduce launched from autograd hooks
  double timeout_seconds = 60;  // every collective; also rendezvous
  bool synchronise = true;      // false: no gradient exchange (the no-comm yardstick)

  // Record keeping.
  int64_t checkpoint_every_samples = 1500;  // 0: only at the end
  int64_t trace_first_step = 5;
  int64_t trace_steps = 20;  // 0: no trace

  // Faults for tests: rank `fault_rank` sleeps `fault_sleep_ms` before each step.
  int fault_rank = -1;
  double fault_sleep_ms = 0;
};

base::Json ToJson(const TrainPlan& plan);
// Unknown keys and wrong types are refused: REC-0003.
base::Result<TrainPlan> TrainPlanFromJson(const base::Json& json,
                                          std::string_view name);

}  // namespace stepslack::record

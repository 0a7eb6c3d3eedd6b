// The complete state of training between two steps as one file: what it holds, and
// whether it belongs to a plan. Where the files lie: checkpoint_folder.h; how they are
// written: checkpoint_writer.h.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stepslack/base/json.h"
#include "stepslack/base/result.h"
#include "stepslack/model/parameter_layout.h"
#include "stepslack/model/state_file.h"
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

// An array of the state under the name that it has in the file; the memory belongs to
// the network or the optimizer.
struct NamedArray {
  std::string name;
  std::vector<int64_t> shape;
  std::span<float> values;
};

// Adds `buffer`: one array "name.PARAMETER" for every entry of `layout`, by whose order
// the buffer is laid out; with an empty layout one array "name".
void AddState(std::string_view name, const std::vector<model::ParameterInfo>& layout,
              std::span<float> buffer, std::vector<NamedArray>& arrays);

// SHA-256 of the plan's JSON, without what can not change the parameters (time-out,
// trace, loader, checkpoints unless gradients are compressed, injected faults).
std::string PlanDigest(const record::TrainPlan& plan);

// The text that goes with the arrays: schema, plan digest, cursor and `data`, the facts
// of the sample source.
std::string CheckpointText(const record::TrainPlan& plan, const TrainCursor& cursor,
                           const base::Json& data);

// Takes the text and the arrays of `state`, read from `path`. Nothing is changed when
// it does not fit. Errors: TRAIN-0010 written by another plan, TRAIN-0013 with other
// data, TRAIN-0011 without the arrays of this network and optimizer.
base::Result<TrainCursor> TakeCheckpoint(const model::StateFile& state,
                                         const std::string& path,
                                         const record::TrainPlan& plan,
                                         const base::Json& data,
                                         std::span<const NamedArray> arrays);

}  // namespace stepslack::train

// What `stepslack train` is asked to do: a run.toml, read to a training plan, and the
// data that the plan names, brought into the room. docs/train.md describes every key.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "stepslack/base/context.h"
#include "stepslack/base/json.h"
#include "stepslack/base/result.h"
#include "stepslack/record/train_plan.h"
#include "stepslack/store/room.h"

namespace stepslack::study {

struct TrainJobData {
  std::string source;  // "embedded", "folder" (maps) or "arrays"
  std::string folder;
  std::string inputs;   // of "arrays": .npy, a folder of shards, or graphs .npz
  std::string targets;  // .npy; empty for graphs
  std::string groups;   // text file, one group name a sample
  uint64_t seed = 1;    // of the embedded generator
  int families = 0;
  int variants = 0;
  int tile = 0;  // pixels a side
  int stride = 0;
  int downscale = 1;
};

struct TrainJobSplit {
  std::string policy;  // "by_group", "random" or "file"
  std::string file;    // JSON {"train": [..], "validation": [..], "test": [..]}
  uint64_t seed = 1;
  double validation_share = 0;
  double test_share = 0;
};

struct TrainJob {
  std::string file;
  std::string title;
  int ranks = 1;
  TrainJobData data;
  TrainJobSplit split;
  record::TrainPlan plan;  // without paths and indices until PrepareTrainData
};

// Paths in the file are relative to its folder. `overrides` ("train.learning_rate" ->
// value) stand in for what the file says. Errors: CONF-0001..5, each with line.
base::Result<TrainJob> ReadTrainJob(
    const std::string& path, const std::map<std::string, base::Json>& overrides = {});

// What was done to the data, for people and for the run's dataset tag.
struct PreparedData {
  int64_t samples = 0;
  int64_t groups = 0;
  std::string sha256;  // of inputs, targets and the division: dataset tag
  std::vector<std::string>
      notes;  // "24 maps in quarantine", the random split's warning
};

// Makes, reads or finds the data, divides them, and fills paths and indices of
// job.plan. Files that the user owns are used where they lie, made ones become objects
// of the room. The result depends on the job's data and split sections only. Errors:
// STUDY-0020 data that the job does not name, STUDY-0021 a split or group file that
// does not fit, and those of the data modules.
base::Result<PreparedData> PrepareTrainData(TrainJob& job, store::Room& room,
                                            const base::Context& context);

}  // namespace stepslack::study

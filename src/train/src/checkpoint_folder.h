// RUN/checkpoints/step<k>.pt: the last few complete states, found by their names, so
// that no pointer to the latest one can be wrong.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stepslack/base/result.h"
#include "stepslack/comm/communicator.h"
#include "stepslack/model/state_file.h"

namespace stepslack::train {

struct CheckpointFile {
  int64_t step = 0;
  std::string path;
};

// Newest first; empty when there is no folder. Other files are ignored.
std::vector<CheckpointFile> ListCheckpoints(const std::string& run_folder);
std::string CheckpointPath(const std::string& run_folder, int64_t step);

// Deletes all but the `keep` newest of those up to `step`; and what killed processes
// left half written. Best effort: a file too many does no harm.
void PruneCheckpoints(const std::string& run_folder, int64_t step, int keep);
void RemoveHalfWritten(const std::string& run_folder);

// What the group agreed to start from.
struct FoundCheckpoint {
  std::string path;
  model::StateFile state;
  int skipped = 0;  // newer ones that are damaged
};

// Rank 0 reads the newest checkpoint that is not damaged and hands its bytes to all, so
// that a file system that lags can not split the group. A damaged one is set aside as
// "step<k>.pt.damaged" and a warning (TRAIN-0060) goes to standard error. No value:
// there are none. TRAIN-0061: there are some, and all are damaged.
base::Result<std::optional<FoundCheckpoint>> FindCheckpoint(
    const std::string& run_folder, comm::Communicator& communicator);

}  // namespace stepslack::train

// status.json: what a run is doing, for a scheduler or a person. Rank 0 replaces the
// file about once a second while it trains, and at every change of state; a reader
// never sees half of one. Schema "stepslack.status/1".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "stepslack/base/json.h"
#include "stepslack/base/result.h"

namespace stepslack::record {

enum class RunState {
  kStarting,
  kRunning,
  kEvaluating,
  kCheckpointing,
  kDone,
  kFailed
};

// "starting", "running", "evaluating", "checkpointing", "done", "failed".
std::string_view ToString(RunState state);

struct RunStatus {
  RunState state = RunState::kStarting;
  int64_t process = 0;  // of rank 0, on its host
  int world_size = 1;
  int64_t step = 0;  // the last finished one
  int64_t samples = 0;
  int64_t total_samples = 0;  // of the whole run
  double loss = 0;            // of the last step
  double samples_per_second =
      0;  // since this process began to train, all it did included
  // 1 - (exposed communication + data wait) / step time, rank 0, since this process
  // began to train.
  double efficiency = 0;
  double eta_seconds = -1;       // -1: not known yet
  int64_t checkpoint_step = -1;  // of the last complete checkpoint; -1: none
  int64_t updated_unix_ms = 0;   // wall clock of the host of rank 0
  std::string error;             // of a failed run
};

base::Json ToJson(const RunStatus& status);

// REC-0020: the file is not of this schema; BASE-0001: it is not there.
base::Result<RunStatus> ReadRunStatus(const std::string& folder);

// Replaces folder/status.json: new file, then rename, without waiting for the disk (a
// torn status after a power cut is read as none). REC-0021: can not be written.
base::Status WriteRunStatus(const std::string& folder, const RunStatus& status);

// Best effort, for a run that ends with an error: keeps the progress of the last
// status.
void MarkRunFailed(const std::string& folder, const std::string& error, int world_size);

// Milliseconds since 1970.
int64_t UnixMilliseconds();

// One line for people: "step 120 | 960 of 3000 samples (32 %) | loss 0.2314 | 41.2
// samples/s | efficiency 93 % | ETA 50 s". What is not known yet is left out.
std::string ProgressLine(const RunStatus& status);

}  // namespace stepslack::record

// Keeps status.json of a run up to date; only rank 0 writes.
#pragma once

#include <cstdint>
#include <string>

#include "stepslack/base/result.h"
#include "stepslack/record/run_record.h"
#include "stepslack/record/run_status.h"

namespace stepslack::train {

class StatusFile {
 public:
  // `writes`: this is rank 0. `samples` have been consumed before, in other processes.
  StatusFile(std::string run_folder, bool writes, int world_size, int64_t samples,
             int64_t total_samples);

  // After a step; written when the last writing is a second ago.
  base::Status Stepped(const record::StepRecord& record);
  // Written at once when the run ends, else as after a step: short evaluations after
  // every step must not become as many files.
  base::Status Enter(record::RunState state);
  // The run ends with this error; written at once.
  base::Status Fail(std::string error);
  void Checkpointed(int64_t step) { status_.checkpoint_step = step; }

  const record::RunStatus& status() const { return status_; }

 private:
  base::Status Write(int64_t now_ns);
  std::string folder_;
  bool writes_;
  int64_t first_samples_;
  int64_t first_start_ns_ = 0;  // of the first step in this process; 0: none yet
  int64_t step_ns_ = 0;         // sums over its steps
  int64_t lost_ns_ = 0;
  int64_t written_ns_ = 0;
  record::RunStatus status_;
};

}  // namespace stepslack::train

// Starts the ranks of a training run as local processes, pins them, watches them, and
// ends all of them as soon as one fails. Finished runs are found again by the digest of
// what they were given; a run that was interrupted resumes from its checkpoint.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "stepslack/base/context.h"
#include "stepslack/record/run_record.h"
#include "stepslack/record/train_plan.h"

namespace stepslack::study {

struct Launcher {
  std::string worker;         // path of stepslack-worker
  std::string worker_sha256;  // part of every run's identity
  std::string runs_folder;
  // A rank that writes no metric for this long is taken for hung (seconds).
  double stall_seconds = 180;
};

// STUDY-0001: the worker is not there or can not be read.
base::Result<Launcher> FindLauncher(const std::string& worker,
                                    const std::string& runs_folder);

struct RunRequest {
  std::string label;  // "seed 2", for people
  record::TrainPlan plan;
  int world_size = 1;
  // Tells apart runs that are repeated on purpose with an equal plan.
  int repeat = 0;
};

// Samples consumed so far and the latest validation metric (NaN before the first).
using RunProgress = std::function<void(int64_t samples, double relative_mae)>;

// First 16 digits of the digest over plan, data digests, ranks, repeat and worker.
std::string RunId(const Launcher& launcher, const RunRequest& request);

// True when the run is in the runs folder, complete and unaltered.
bool IsFinished(const Launcher& launcher, const RunRequest& request);

// Reads the finished run or executes it. STUDY-0002 a rank ended with an error,
// STUDY-0003 a rank was killed, STUDY-0004 a rank hangs, STUDY-0005 interrupted.
base::Result<record::RunRecord> Execute(const Launcher& launcher,
                                        const RunRequest& request,
                                        const base::Context& context,
                                        const RunProgress& progress);

}  // namespace stepslack::study

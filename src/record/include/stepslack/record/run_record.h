// What a training run leaves behind, in a folder of its own:
//   plan.json                 the TrainPlan
//   run.json                  RunSummary, written last and atomically: its presence
//   with
//                             status "done" is what makes a run finished
//   metrics.rank<k>.jsonl     one StepRecord a line, rank 0 also EvalRecords
//   trace.rank<k>.json.gz     Kineto-compatible trace of plan.trace_steps steps
//   predictions.npz           "prediction" [n,h,w] mV and "index" [n] of the test
//   samples
//   checkpoints/step<k>.pt    the last few complete states; log.rank<k>.txt: messages
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "stepslack/base/json.h"

namespace stepslack::record {

// One optimizer step on one rank. Times are nanoseconds; *_ns without "start" are
// durations. Phases do not overlap and leave a remainder ("other") to step_ns.
struct StepRecord {
  int64_t step = 0;
  int64_t epoch = 0;
  int64_t samples_total = 0;  // over all ranks, after this step
  int64_t rank_samples = 0;   // this rank's share of the batch
  int64_t start_ns = 0;       // monotonic clock of the host
  int64_t step_ns = 0;
  int64_t data_ns = 0;
  int64_t forward_ns = 0;
  int64_t backward_ns = 0;   // without waiting for communication after it
  int64_t comm_wait_ns = 0;  // blocked on gradient exchange after backward
  int64_t optimizer_ns = 0;
  int64_t comm_bytes = 0;
  int64_t minor_faults = 0;  // page faults in this step (ru_minflt)
  double cpu_seconds = 0;    // process CPU time in this step
  double loss = 0;           // mean over the global batch
  double grad_norm = 0;      // global norm before clipping
  double learning_rate = 0;
  std::string sample_digest;  // hash of the sample indices of this rank's batch
};

struct EvalRecord {
  int64_t step = 0;
  int64_t samples_total = 0;
  double train_seconds =
      0;  // wall seconds since the first step began, evaluation included
  double eval_seconds = 0;
  double loss = 0;
  double relative_mae = 0;
  double mae_mv = 0;
};

struct RunSummary {
  std::string status;   // "done" or "failed"
  std::string failure;  // error text when failed
  int world_size = 1;
  int64_t parameters = 0;  // trainable scalars
  int64_t steps = 0;
  int64_t samples = 0;
  double startup_seconds = 0;  // process start to first step
  double train_seconds = 0;    // first step to last, evaluation included
  double cpu_seconds = 0;      // all ranks, whole process
  bool target_reached = false;
  double seconds_to_target = 0;      // at the evaluation that saw it
  double seconds_before_target = 0;  // the evaluation before: the target lies between
  int64_t samples_to_target = 0;
  int restarts = 0;                            // times resumed from a checkpoint
  std::string parameters_sha256;               // over all parameter bytes at the end
  std::string predictions_sha256;              // over the prediction values
  double inference_seconds_per_map = 0;        // batch of one, one thread, median
  double inference_cpu_seconds_per_map = 0;    // CPU time of the same
  std::map<std::string, std::string> runtime;  // versions, backend, transport, threads
  std::vector<double> rank_cpu_seconds;
};

// One run read back from its folder.
struct RunRecord {
  std::string folder;
  RunSummary summary;
  std::vector<std::vector<StepRecord>> steps;  // by rank
  std::vector<EvalRecord> evals;
  int64_t skipped_lines = 0;  // damaged metric lines, counted
};

base::Json ToJson(const StepRecord& record);   // {"kind": "step", ...}
base::Json ToJson(const EvalRecord& record);   // {"kind": "eval", ...}
base::Json ToJson(const RunSummary& summary);  // schema "stepslack.run/1"

// REC-0004: no run.json, or not of this schema.
base::Result<RunSummary> ReadRunSummary(const std::string& folder);
base::Result<RunRecord> ReadRun(const std::string& folder);

}  // namespace stepslack::record

// What a training run leaves behind, in a folder of its own:
//   plan.json                 the TrainPlan
//   run.json                  RunSummary, written last and atomically: its presence
//   with
//                             status "done" is what makes a run finished
//   host.rank<k>.json         rank_facts.h, written at start
//   status.json               run_status.h, while it runs and after
//   metrics.jsonl             of rank 0: StepRecords and EvalRecords, one a line
//   metrics.rank<k>.jsonl     StepRecords of the other ranks
//   trace.rank<k>.json.gz     Kineto-compatible trace of plan.trace_steps steps
//   predictions.npz           "prediction" [n,h,w] mV and "index" [n] of the test
//   samples
//   checkpoints/step<k>.pt    the last few complete states; log.txt, log.rank<k>.txt:
//                             messages of rank 0 and of the others
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
  int64_t minor_faults = 0;          // page faults in this step (ru_minflt)
  int64_t major_faults = 0;          // those that read a file (ru_majflt)
  int64_t voluntary_switches = 0;    // the process waited for something
  int64_t involuntary_switches = 0;  // it was made to leave its core
  int64_t run_queue_ns = -1;    // training thread ready but not running; -1: unknown
  int64_t throttled_ns = -1;    // control group out of quota in this step; -1: unknown
  int64_t throttle_count = -1;  // times that this happened
  int64_t resident_bytes = -1;  // at the end of the step; -1: unknown
  double cpu_seconds = 0;       // process CPU time in this step
  double loss = 0;              // mean over the global batch
  double grad_norm = 0;         // global norm before clipping
  double learning_rate = 0;
  std::string sample_digest;  // hash of the sample indices of this rank's batch
  // The ladder, every plan.hash_every_steps steps, else "": XXH3-128 in 32 hexadecimal
  // digits. The first rung that differs between two runs, or between ranks where it
  // must not, says where they part. Only the last two change with the rank.
  std::string parameter_hash;         // before the step
  std::string reduced_gradient_hash;  // after the exchange, before clipping
  std::string sample_hash;            // of the indices, in their order
  std::string local_gradient_hash;    // before the exchange
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
  // SHA-256 of what a result depends on: "dataset" (content and division; without
  // a digest in the plan that of the encoding), "model" (the
  // plan without data, and the number of parameters), "runtime" and "hardware" (of rank
  // 0, see rank_facts.h).
  std::map<std::string, std::string> tags;
  base::Json config;                       // the plan, without its lists of samples
  base::Json host;                         // of rank 0, see rank_facts.h
  std::vector<std::string> hardware_tags;  // by rank
  std::vector<std::string> runtime_tags;   // by rank
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

// "metrics.jsonl", "metrics.rank3.jsonl"; "log.txt", "log.rank3.txt".
std::string MetricsFileName(int rank);
std::string LogFileName(int rank);

// What the metrics of ranks 0 to world_size - 1 hold, of a run in any state;
// the summary is left empty. REC-0010: more ranks than there can be.
base::Result<RunRecord> ReadRunMetrics(const std::string& folder, int world_size);

}  // namespace stepslack::record

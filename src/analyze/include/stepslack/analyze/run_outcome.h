// How one training run ended, whatever log it was read from: time and samples to the
// target quality, what evaluation and start-up took, and why something is not known.
// MLPerf is the first source (OutcomeOf); nothing here depends on it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "stepslack/analyze/system_description.h"
#include "stepslack/trace/mllog.h"

namespace stepslack::analyze {

enum class RunStatus {
  kSuccess,   // reached the target, and the log says so
  kAborted,   // stopped without it
  kTruncated  // the log ends before the run does, or begins after it
};
std::string_view ToString(RunStatus status);  // "success", "aborted", "truncated"

struct RunOutcome {
  std::string source;     // the input it was read from
  std::string format;     // "mllog"
  std::string benchmark;  // "resnet"
  std::string system;
  std::string submitter;
  std::optional<int64_t> world_size;  // accelerators
  RunStatus status = RunStatus::kTruncated;

  // As in survival data these two are read together with `status`: of a run that did
  // not succeed they are what it had when it stopped, a lower bound.
  std::optional<double> ttt_min;             // minutes, run_start to run_stop
  std::optional<int64_t> samples_to_target;  // at the evaluation that saw the target
  std::string unit;                          // "samples", "tokens"

  // Minutes that the run was watched: ttt_min, else until the log ends.
  std::optional<double> watched_min;
  std::optional<int64_t> global_batch;
  std::optional<double> eval_share;        // of ttt_min, 0 to 1
  std::optional<double> init_min;          // first init_start to run_start
  std::optional<int64_t> eval_grid_width;  // in `unit`: the target was met in the last
  std::optional<double> final_quality;     // value of the last evaluation
  std::optional<int64_t> seed;
  std::string reason;             // why something is absent or not a success
  std::string world_size_reason;  // why the world size is absent

  bool reached() const { return status == RunStatus::kSuccess && ttt_min.has_value(); }
};

// Samples: samples_count of the evaluation; else, from its epoch_num, by benchmark:
// resnet x 1281167; unet3d x train_samples (168 where the log does not say); bert as it
// is (a sample count), or train_samples where epoch_num stays 1; gpt3 as it is, in
// tokens; others x train_samples. stable_diffusion: the first samples_count with FID <=
// 90 and CLIP >= 0.15, evaluated after the run. `system` is the folder above that of
// the benchmark in `source`, else submission_platform. Placeholders count as not said.
RunOutcome OutcomeOf(const trace::MllogRun& run, std::string_view source,
                     std::optional<int64_t> world_size = {});

// Takes world size, system and submitter over from a description.
void ApplySystem(const SystemDescription& system, RunOutcome& outcome);

// What a benchmark of MLPerf Training (v1.1 to v4.0) has to reach in its one metric.
struct QualityTarget {
  double bound = 0;
  bool at_most = false;
};
std::optional<QualityTarget> TargetOf(std::string_view benchmark);

}  // namespace stepslack::analyze

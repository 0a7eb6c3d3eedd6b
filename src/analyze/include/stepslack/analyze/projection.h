// From measured scales to world sizes that nobody measured: step time, throughput and
// time to accuracy with 80 % intervals. Formulas and limits: docs/projection.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stepslack/analyze/run_sets.h"
#include "stepslack/analyze/scale_model.h"
#include "stepslack/base/json.h"
#include "stepslack/base/result.h"

namespace stepslack::analyze {

// Scales of one training: the same work, another number of workers.
struct ScaleFamily {
  std::string name;
  std::string unit = "samples";
  double units_per_sample = 1;  // tokens of a sequence when `unit` is tokens
  // What a step holds: "evaluation included" (from time to accuracy) or "iteration".
  std::string basis;
  std::vector<ScalePoint> points;
};

// One family for every benchmark and submitter: step time = global batch / throughput,
// so that evaluation is spread over the steps. Sets without batch, world size or
// throughput are left out and named in `left_out`. Where the unit is tokens
// (gpt3 of MLPerf) a sample of the batch is 2048 of them.
std::vector<ScaleFamily> FamiliesOf(const RunSetReport& report,
                                    std::vector<std::string>& left_out);

// A table of measured iterations (CSV with a header, "," separated). Columns by name:
// GPUs ("# GPUs", gpus, world_size, ranks, chips) or Nodes (x 8 accelerators, or
// `workers_per_node`), global batch, iteration time ("(ms)" in the name: milliseconds)
// or Sec/it. Every other column that holds the configuration (parameters, micro batch,
// tp, pp, ...) divides the rows into families. Rows without the three numbers are
// counted in `left_out`. Errors: PROJ-0003 (a column is missing).
base::Result<std::vector<ScaleFamily>> FamiliesOfTable(
    std::string_view csv, std::string_view name, int workers_per_node,
    std::vector<std::string>& left_out);

struct ProjectOptions {
  std::vector<int64_t> world_sizes;  // to predict, each >= 1
  std::vector<double> batches;       // global; as many as world_sizes, one, or none
  double knee_bound = 0.5;           // marginal efficiency
  std::optional<double> mtbf_hours;  // of one worker
  double checkpoint_seconds = 60;    // to write one
  double restart_seconds = 300;      // to be back at the last one
  std::optional<double> watts;       // of one worker
  std::optional<double> price_hour;  // of one worker
};

struct Predicted {
  Interval80 range;
  bool extrapolated = false;
};

// Young 1974, Daly 2006: losses with failures of exponential law.
struct FailureLoss {
  double mtbf_seconds = 0;      // of the job: that of a worker / N
  double interval_seconds = 0;  // between checkpoints, Daly's first order
  double slowdown = 1;          // wall time over time without failures
};

struct Prediction {
  int64_t world_size = 0;
  double global_batch = 0;
  bool batch_assumed = false;
  std::string batch_basis;  // what was assumed; empty when the batch is known
  Predicted step_seconds;
  Predicted throughput;              // unit a second
  std::optional<Predicted> ttt_min;  // absent: `reason`
  std::optional<FailureLoss> failures;
  std::optional<double> energy_kwh;  // to the target
  std::optional<double> cost;        // to the target
  std::string reason;
};

struct FamilyProjection {
  ScaleFamily family;
  std::vector<FittedForm> forms;
  double misfit = 0;
  std::optional<SamplesModel> samples;
  std::vector<Prediction> predictions;
  // The largest world size up to the largest asked whose next doubling brings at least
  // knee_bound of twice the throughput (batch held at the largest measured).
  std::optional<int64_t> knee;
  std::string no_projection;  // why there is none
};

struct ProjectionReport {
  std::vector<FamilyProjection> families;
  std::vector<std::string> left_out;
};

// Families that cannot be projected stay in the report with the reason. Without a batch
// one is assumed (ScaleModel::BatchAssumedAt); the intervals span its bounds.
ProjectionReport Project(std::vector<ScaleFamily> families,
                         const ProjectOptions& options);

// The losses of `work_seconds`-long work do not depend on its length.
FailureLoss YoungDaly(double mtbf_seconds, double checkpoint_seconds,
                      double restart_seconds);

// predictions[]{family, world_size, step_time_s, throughput, ttt_min each {value, low,
// high, extrapolated}, ...}; families[]{name, points, forms, knee, ...}.
base::Json ToJson(const ProjectionReport& report);
std::string ProjectionText(const ProjectionReport& report);
// Critical batch, knee, assumptions, failures, energy and cost: a line each.
std::vector<std::string> ProjectionNotes(const FamilyProjection& family);

}  // namespace stepslack::analyze

// Sets of repeated runs: time to accuracy, success, throughput, and how they scale with
// the world size. Formulas: docs/metrics_runs.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stepslack/analyze/run_outcome.h"
#include "stepslack/base/estimate.h"
#include "stepslack/base/json.h"
#include "stepslack/stats/survival.h"

namespace stepslack::analyze {

// Minutes by which a share of the runs has reached the target: the smallest event time
// with S(t) <= 1 - share. Absent when fewer arrived, or when share is outside (0, 1).
std::optional<double> KaplanMeierQuantile(const stats::SurvivalCurve& curve,
                                          double share);

// Runs that did not reach the target are censored. kAtStop: an aborted one at its stop,
// one whose log is cut after all others, since why and when it ended is not known.
// kNever: all of them after all others.
enum class Censoring { kAtStop, kNever };
std::vector<stats::Duration> Durations(std::span<const RunOutcome> runs,
                                       Censoring censoring);

struct RunQuantiles {  // minutes
  std::optional<double> q25;
  std::optional<double> median_censor_at_stop;
  std::optional<double> median_censor_at_inf;
  std::optional<double> q75;  // q25 and q75: censored at infinity
};

struct RunSet {
  std::string name;  // "<system>/<benchmark>", made unique
  std::string benchmark;
  std::string system;
  std::string submitter;
  std::optional<int64_t> world_size;
  std::optional<int64_t> global_batch;
  std::vector<size_t> members;  // into RunSetReport::runs
  int64_t runs = 0;
  int64_t successes = 0;

  // Minutes. All reached: geometric mean, t interval on logs. Else: Kaplan-Meier median
  // (censored at the stop) with the Brookmeyer-Crowley interval.
  base::Estimate ttt;
  base::Estimate success_share;  // Clopper-Pearson
  RunQuantiles quantiles;

  // MLPerf's score: mean after dropping `drop_each_side` from both ends; a run that did
  // not converge is the slowest. Absent with too few runs, or more failures than drops.
  int64_t drop_each_side = 1;  // unet3d: 4
  std::optional<double> olympic_min;
  std::string no_olympic;
  std::optional<double> mean_min;  // of those that reached the target

  // `time_basis` names the time and samples of throughput and scaling: "olympic mean",
  // or "mean" when that is absent and every run reached the target, else "".
  std::string time_basis;
  std::optional<double> samples;  // by the same basis, in `unit`
  std::string unit;
  std::optional<double> throughput;  // unit per second of ttt, evaluation included
  std::optional<double> throughput_per_worker;
  std::optional<double> eval_share;       // medians over the successes
  std::optional<double> eval_grid_share;  // eval_grid_width / samples_to_target
  std::optional<double> init_min;

  // Against the smallest world size of the same benchmark and submitter (first by name
  // when several sets have it): 1 for that set itself.
  std::string baseline;
  std::optional<double> speedup;
  std::optional<double> E;   // T1 N1 / (TN N) = Es * Eh
  std::optional<double> Es;  // S1 / SN
  std::optional<double> Eh;  // throughput per worker, N over 1
  std::optional<double> se_log_E;
  std::string no_scaling;
};

struct RunSetReport {
  std::vector<RunOutcome> runs;
  std::vector<RunSet> sets;  // by benchmark, submitter, world size, name
};

// One set for every benchmark, submitter, system, world size and global batch. A run
// whose log was cut before it named its batch joins the one set that it may belong to,
// so that a failure does not vanish from its set.
RunSetReport GroupRuns(std::vector<RunOutcome> runs, double confidence = 0.95);

// runs[]{source, format, benchmark, system, submitter, world_size, status, reached,
// ttt_min, samples_to_target, unit, global_batch, ..., reason}; sets[]{name,
// world_size, runs, ttt{value, low, high, ...}, success_share, success_share_interval,
// olympic_min, throughput, E, Es, Eh, se_log_E, ...}. What is absent is null.
base::Json ToJson(const RunSetReport& report);

}  // namespace stepslack::analyze

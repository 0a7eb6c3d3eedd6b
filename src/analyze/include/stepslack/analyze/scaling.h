// Scaling efficiency: always statistical times hardware, E = Es * Eh, with the rule and
// the per-rank batch named, and the loss taken apart. Formulas: docs/metrics.md.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stepslack/base/estimate.h"
#include "stepslack/record/run_record.h"

namespace stepslack::analyze {

enum class ScalingRule {
  kStrong,  // the global batch stays
  kWeak     // the batch per rank stays
};
std::string_view ToString(ScalingRule rule);

// Repeats of one configuration. Repeats are interleaved with those of the other groups:
// runs[i] here and runs[i] there ran next to each other and form a pair.
struct ScalingGroup {
  int world_size = 1;
  int64_t per_rank_batch = 0;
  ScalingRule rule = ScalingRule::kStrong;
  bool synchronise = true;  // false: the no-communication yardstick
  std::vector<const record::RunRecord*> runs;
};

// Percentage points of efficiency lost; the four add up to `total`.
struct EfficiencyLoss {
  base::Estimate total;    // 100 * (1 - Eh)
  base::Estimate compute;  // more compute time per sample: shared memory and cores
  base::Estimate exposed_comm;
  base::Estimate data;
  base::Estimate other;
};

struct ScalingPoint {
  int world_size = 1;
  int64_t per_rank_batch = 0;
  int64_t global_batch = 0;
  ScalingRule rule = ScalingRule::kStrong;
  int64_t repeats = 0;
  std::vector<double> throughputs;  // samples/s, one per repeat
  base::Estimate throughput;        // samples/s, geometric mean
  base::Estimate speedup;           // against one rank
  base::Estimate hardware;          // Eh
  base::Estimate statistical;       // Es
  base::Estimate efficiency;        // E
  base::Estimate versus_no_comm;    // throughput over that without communication
  base::Estimate load_balance;      // mean / max of compute over ranks
  EfficiencyLoss loss;
  // Largest |loss_W - loss_1| / |loss_1| at equal steps, the evidence behind an Es by
  // equal global batch; absent when steps cannot be compared.
  std::optional<double> max_relative_loss_difference;
  int64_t loss_steps_compared = 0;
  int slowest_rank = -1;
  std::vector<double> rank_compute_seconds;  // per step, mean over repeats, by rank
};

struct ScalingReport {
  std::vector<ScalingPoint> points;  // synchronised groups by rule, batch, world size
  std::vector<std::string> remarks;  // what was missing and what that cost
};

struct ScalingOptions {
  int64_t warmup_steps = 10;
  double confidence = 0.95;
  // Above this loss difference an equal global batch is no evidence for Es = 1.
  double max_loss_difference = 0.1;
  // Only the first steps of a run are compared: training amplifies the rounding of
  // another summation order, so that after some ten steps even equal computations drift
  // apart.
  int64_t loss_steps = 8;
};

// Baseline of a point: the one-rank group of the same rule with the same global batch
// (strong) or the same per-rank batch (weak); a one-rank group of the other rule serves
// when it has that batch. Without one the efficiencies are absent.
// Errors: ANL-0001 no group or no run, ANL-0002 a world size or batch that is not
// positive.
base::Result<ScalingReport> ComputeScaling(std::span<const ScalingGroup> groups,
                                           const ScalingOptions& options = {});

base::Json ToJson(const ScalingReport& report);  // "stepslack.scaling/1"

}  // namespace stepslack::analyze

// Where the time of a training step goes, and what communication costs: from the step
// records of every rank, and in more detail from the traced steps. Formulas:
// docs/metrics.md.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stepslack/analyze/collective_match.h"
#include "stepslack/base/estimate.h"
#include "stepslack/record/run_record.h"
#include "stepslack/trace/event_store.h"

namespace stepslack::analyze {

// One run as evidence: its records and, where there are any, its ranks' traces.
struct RunEvidence {
  const record::RunRecord* run = nullptr;     // must exist
  std::span<const trace::EventStore> traces;  // may be empty
};

// A step on one rank, from its step record. The parts add up to step_ns.
struct StepPhases {
  int64_t step = 0;
  int rank = 0;
  int64_t step_ns = 0;
  int64_t data_ns = 0;
  int64_t forward_ns = 0;
  int64_t backward_ns = 0;
  int64_t exposed_comm_ns = 0;
  int64_t optimizer_ns = 0;
  int64_t other_ns = 0;
  bool overfull =
      false;  // the record's parts exceed its step; step_ns was raised to them
};

// What became of the step records.
struct StepCoverage {
  int64_t steps_seen = 0;    // distinct step numbers
  int64_t steps_used = 0;    // on every rank present, after warm-up
  int64_t warmup_steps = 0;  // left out at the start: min(option, complete steps / 4)
  int64_t incomplete_steps = 0;  // missing on a rank that has records
  int64_t zero_steps = 0;        // of no duration on every rank: left out
  int64_t repeated_records =
      0;  // a step written again after a restart: the last counts
  int64_t overfull_records = 0;
  std::vector<int> missing_ranks;  // in the world, without a record
};

// A traced step on one rank, by interval arithmetic on its spans:
//   communication C = union of collective spans, compute K = union of forward, backward
//   and optimizer spans minus comm_wait spans (of a GPU trace: kernels that are no
//   collective); overlapped = C and K, exposed = C minus K; transfer = spans after the
//   last start, wait = the rest of C before it, unmatched = C without a match.
struct TracedStep {
  int64_t step = 0;
  int rank = 0;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  int64_t compute_ns = 0;
  int64_t comm_ns = 0;  // = overlapped + exposed = wait + transfer + unmatched
  int64_t overlapped_ns = 0;
  int64_t exposed_ns = 0;  // = the three below
  int64_t exposed_wait_ns = 0;
  int64_t exposed_transfer_ns = 0;
  int64_t exposed_unmatched_ns = 0;
  int64_t wait_ns = 0;
  int64_t transfer_ns = 0;
  int64_t collectives = 0;  // started in this step
};

// Collectives of one operation, group and size.
struct CollectiveRow {
  std::string name;
  std::string group;
  int64_t bytes = 0;
  int64_t group_size = 0;
  int64_t count = 0;
  base::Estimate wait_us;        // mean over ranks, per collective
  base::Estimate transfer_us;    // last end - last start
  base::Estimate bus_bandwidth;  // GB/s: BusFactor * bytes / (last end - last start)
};

// One rank over the steps used (sums), and its part in the matched collectives.
struct RankTotals {
  int rank = 0;
  int64_t steps = 0;
  int64_t samples = 0;
  int64_t step_ns = 0;
  int64_t data_ns = 0;
  int64_t forward_ns = 0;
  int64_t backward_ns = 0;
  int64_t exposed_comm_ns = 0;
  int64_t optimizer_ns = 0;
  int64_t other_ns = 0;
  int64_t comm_bytes = 0;
  int64_t minor_faults = 0;
  double cpu_seconds = 0;
  int64_t times_last = 0;      // matched collectives in which it came last
  int64_t wait_caused_ns = 0;  // by coming last
  int64_t wait_ns = 0;         // its own waits for others
};

// Shares are of step time. With three runs or more every estimate is a t interval over
// runs; with fewer, over blocks of consecutive steps (`interval_over` says which).
struct CommsProfile {
  int world_size = 1;
  int64_t runs = 0;
  std::string interval_over;  // "runs" or "step blocks"
  StepCoverage coverage;      // summed over runs
  int64_t traced_steps = 0;   // rank-steps with a trace

  base::Estimate step_seconds;
  base::Estimate exposed_share;  // step records: blocked on communication
  base::Estimate data_share;
  base::Estimate forward_share;
  base::Estimate backward_share;
  base::Estimate optimizer_share;
  base::Estimate other_share;

  base::Estimate traced_exposed_share;  // traces: the cross-check of exposed_share
  base::Estimate comm_share;            // traces: collectives, hidden or not
  base::Estimate overlap_share;         // of communication time, hidden behind compute
  base::Estimate wait_share;
  base::Estimate transfer_share;
  base::Estimate exposed_wait_share;
  base::Estimate exposed_transfer_share;

  base::Estimate bytes_per_step;   // per rank
  base::Estimate load_balance;     // mean / max over ranks of compute time, per step
  base::Estimate faults_per_step;  // minor page faults per rank
  int slowest_rank = -1;           // most compute time per sample; -1 with one rank
  base::Estimate slowest_over_others;  // its compute per sample over the others' mean

  std::vector<CollectiveRow> collectives;  // most time first
  std::vector<RankTotals> ranks;           // summed over runs
  MatchingQuality matching;                // summed over runs; valid when all are
};

struct ProfileOptions {
  int64_t warmup_steps = 10;
  int64_t blocks = 10;  // per run, when there are fewer than three runs
  double confidence = 0.95;
  MatchOptions match;
};

// Steps on every rank after warm-up, by step then rank.
std::vector<StepPhases> PhasesOfRun(const record::RunRecord& run, int64_t warmup_steps,
                                    StepCoverage* coverage);  // may be null
// Steps named ProfilerStep#N in the traces, by step then rank; all of them.
std::vector<TracedStep> PhasesOfTraces(std::span<const trace::EventStore> traces,
                                       const CollectiveMatch& match);

// Runs of one configuration (equal world size). Never fails: what cannot be estimated
// is absent and its method says why.
CommsProfile ProfileComms(std::span<const RunEvidence> runs,
                          const ProfileOptions& options = {});

base::Json ToJson(const StepCoverage& coverage);
base::Json ToJson(const CommsProfile& profile);  // "stepslack.comms_profile/1"

}  // namespace stepslack::analyze

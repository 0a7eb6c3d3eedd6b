// A run in any state at a glance, from what lies in its folder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stepslack/base/json.h"
#include "stepslack/base/result.h"
#include "stepslack/record/run_record.h"
#include "stepslack/record/run_status.h"
#include "stepslack/record/train_plan.h"

namespace stepslack::record {

// Means over the steps of one rank; the first step, which makes caches and memory, is
// left out when there are more than two. Times in seconds.
struct RankMeans {
  int64_t steps = 0;  // that are averaged
  double step = 0;
  double data = 0;
  double forward = 0;
  double backward = 0;
  double comm_wait = 0;
  double optimizer = 0;
  double other = 0;  // what the phases leave
  double cpu = 0;
  double minor_faults = 0;
  double major_faults = 0;
  double run_queue = -1;  // -1: not told by the host
  double throttled = -1;
};

struct RunOverview {
  std::string folder;
  RunStatus status;  // of run.json where that says more than status.json
  // Since rank 0 last wrote; -1: ended, or unknown.
  double silent_seconds = -1;
  // Running by its own words, but there is no such process on this host any more.
  bool process_gone = false;
  std::optional<TrainPlan> plan;
  std::optional<RunSummary> summary;  // of a run that ended
  std::optional<EvalRecord> last_eval;
  std::vector<RankMeans> ranks;
  // The rank whose own work (a step without waiting for others) takes longest, and by
  // which factor of the mean of the others; -1: fewer than two ranks with steps.
  int slowest_rank = -1;
  double slowest_factor = 1;
  base::Json host;  // rank_facts.h, of rank 0
  int64_t skipped_lines = 0;

  bool Ended() const;
  // Running by its own words, but silent for longer than 30 s: perhaps killed.
  bool Silent() const { return silent_seconds > 30; }
};

RankMeans MeansOf(const std::vector<StepRecord>& steps);

// `now_unix_ms` tells how old the status is. REC-0022: no run is in this folder.
base::Result<RunOverview> ReadRunOverview(const std::string& folder,
                                          int64_t now_unix_ms);

base::Json ToJson(const RunOverview& overview);  // "stepslack.run_overview/1"

}  // namespace stepslack::record

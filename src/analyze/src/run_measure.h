// What scaling needs of one run.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "stepslack/record/run_record.h"

namespace stepslack::analyze {

// Medians over steps after warm-up. Per-sample times are summed over ranks
// ("rank-seconds per sample"), so that they stay equal when scaling is perfect.
struct RunMeasure {
  double throughput = 0;    // samples/s of all ranks
  double global_batch = 0;  // samples per step
  double total = 0;         // rank-seconds per sample = ranks / throughput
  double compute = 0;       // forward, backward, optimizer
  double exposed_comm = 0;
  double data = 0;
  double load_balance = 1;  // sum of mean over sum of max compute of the ranks
  std::vector<double> rank_compute_seconds;  // per step
  int64_t steps = 0;
};

// No value when a rank has no records, or no step has samples and time; `why` then says
// so.
std::optional<RunMeasure> MeasureRun(const record::RunRecord& run, int64_t warmup_steps,
                                     std::string* why);

double Median(std::vector<double> values);  // 0 when empty

}  // namespace stepslack::analyze

#include "step_table.h"

#include <algorithm>
#include <limits>
#include <map>

namespace stepslack::analyze {
namespace {

using ByStep = std::map<int64_t, const record::StepRecord*>;

std::vector<ByStep> IndexByStep(const record::RunRecord& run, StepTable& table) {
  std::vector<ByStep> index;
  for (size_t rank = 0; rank < run.steps.size(); ++rank) {
    if (run.steps[rank].empty()) continue;
    table.ranks.push_back(static_cast<int>(rank));
    ByStep by_step;
    for (const record::StepRecord& record : run.steps[rank]) {
      const bool fresh = by_step.insert_or_assign(record.step, &record).second;
      table.coverage.repeated_records += fresh ? 0 : 1;
    }
    index.push_back(std::move(by_step));
  }
  return index;
}

void FindMissingRanks(const record::RunRecord& run, StepTable& table) {
  // A damaged summary may claim any world size; only name ranks that could have
  // existed.
  const int world = std::min(run.summary.world_size, 1 << 20);
  for (int rank = 0; rank < world; ++rank) {
    if (!std::binary_search(table.ranks.begin(), table.ranks.end(), rank)) {
      table.coverage.missing_ranks.push_back(rank);
    }
  }
}

}  // namespace

int WorldSize(const record::RunRecord& run) {
  const auto with_records =
      std::count_if(run.steps.begin(), run.steps.end(),
                    [](const auto& steps) { return !steps.empty(); });
  return std::max({1, run.summary.world_size, static_cast<int>(with_records)});
}

StepTable BuildStepTable(const record::RunRecord& run, int64_t warmup_steps) {
  StepTable table;
  const std::vector<ByStep> index = IndexByStep(run, table);
  FindMissingRanks(run, table);
  std::map<int64_t, std::vector<const record::StepRecord*>> rows;
  for (const ByStep& by_step : index) {
    for (const auto& [step, record] : by_step) rows[step].push_back(record);
  }
  table.coverage.steps_seen = static_cast<int64_t>(rows.size());
  for (auto& [step, row] : rows) {
    const bool zero = std::all_of(row.begin(), row.end(), [](const auto* record) {
      return record->step_ns <= 0;
    });
    if (row.size() != index.size()) {
      ++table.coverage.incomplete_steps;
    } else if (zero) {
      ++table.coverage.zero_steps;
    } else {
      table.rows.push_back(std::move(row));
    }
  }
  const int64_t complete = static_cast<int64_t>(table.rows.size());
  const int64_t warmup = std::clamp<int64_t>(warmup_steps, 0, complete / 4);
  table.rows.erase(table.rows.begin(), table.rows.begin() + warmup);
  table.coverage.warmup_steps = warmup;
  table.coverage.steps_used = complete - warmup;
  for (const auto& row : table.rows) {
    for (size_t r = 0; r < row.size(); ++r) {
      const StepPhases phases = PhasesOf(*row[r], table.ranks[r], WorldSize(run));
      table.coverage.overfull_records += phases.overfull ? 1 : 0;
    }
  }
  return table;
}

StepPhases PhasesOf(const record::StepRecord& record, int rank, int world_size) {
  const auto part = [](int64_t ns) {
    // A damaged record must not overflow the sums: no part is longer than a year.
    return std::clamp<int64_t>(ns, 0, int64_t{31'557'600} * 1'000'000'000);
  };
  StepPhases phases;
  phases.step = record.step;
  phases.rank = rank;
  phases.data_ns = part(record.data_ns);
  phases.forward_ns = part(record.forward_ns);
  phases.backward_ns = part(record.backward_ns);
  phases.optimizer_ns = part(record.optimizer_ns);
  phases.exposed_comm_ns = world_size > 1 ? part(record.comm_wait_ns) : 0;
  const int64_t parts = phases.data_ns + phases.forward_ns + phases.backward_ns +
                        phases.exposed_comm_ns + phases.optimizer_ns;
  phases.step_ns = part(record.step_ns);
  phases.overfull = parts > phases.step_ns;
  phases.step_ns = std::max(phases.step_ns, parts);
  phases.other_ns = phases.step_ns - parts;
  return phases;
}

int64_t ComputeNs(const record::StepRecord& record) {
  const StepPhases phases = PhasesOf(record, 0, 1);
  return phases.forward_ns + phases.backward_ns + phases.optimizer_ns;
}

std::vector<StepPhases> PhasesOfRun(const record::RunRecord& run, int64_t warmup_steps,
                                    StepCoverage* coverage) {
  const StepTable table = BuildStepTable(run, warmup_steps);
  std::vector<StepPhases> steps;
  for (const auto& row : table.rows) {
    for (size_t r = 0; r < row.size(); ++r) {
      steps.push_back(PhasesOf(*row[r], table.ranks[r], WorldSize(run)));
    }
  }
  if (coverage != nullptr) *coverage = table.coverage;
  return steps;
}

}  // namespace stepslack::analyze

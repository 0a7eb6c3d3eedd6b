// The step records of a run lined up over ranks: one row per step that every rank with
// records has, warm-up left out.
#pragma once

#include <vector>

#include "stepslack/analyze/phases.h"
#include "stepslack/record/run_record.h"

namespace stepslack::analyze {

// A view into a RunRecord, which must outlive it.
struct StepTable {
  std::vector<int> ranks;                                    // with records, ascending
  std::vector<std::vector<const record::StepRecord*>> rows;  // [step][index into ranks]
  StepCoverage coverage;
};

StepTable BuildStepTable(const record::RunRecord& run, int64_t warmup_steps);

// Ranks of the run: what its summary says, or as many as left records when that is
// more.
int WorldSize(const record::RunRecord& run);

// The parts of one record, made to add up. With one rank nothing is communicated: what
// the record calls waiting then belongs to other.
StepPhases PhasesOf(const record::StepRecord& record, int rank, int world_size);

// Forward, backward and optimizer.
int64_t ComputeNs(const record::StepRecord& record);

}  // namespace stepslack::analyze

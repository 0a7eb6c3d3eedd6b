// One training rank as a process: environment in, run folder out, exit code back.
#pragma once

#include <string>

#include "stepslack/base/result.h"

namespace stepslack::train {

// Reads FOLDER/plan.json, joins the group named by the STEPSLACK_* environment, trains
// and writes what record/run_record.h lists. On failure rank 0 leaves a run.json with
// status "failed", and the peers are told that this rank gave up.
base::Status RunWorker(const std::string& run_folder);

}  // namespace stepslack::train

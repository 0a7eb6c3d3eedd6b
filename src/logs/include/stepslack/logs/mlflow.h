// MLflow's file store (mlflow/store/tracking/file_store.py): a run is a folder with
// meta.yaml, metrics/<key> and params/<key>; a line of a metric is
// "timestamp_ms value step".
#pragma once

#include <string>
#include <string_view>

#include "stepslack/base/result.h"
#include "stepslack/logs/series_set.h"

namespace stepslack::logs {

bool LooksLikeMlflowMetric(std::string_view text);

// One metric; its key is the last component of `name`. Counted: lines of another form
// (lines of two numbers, of old releases, have step 0).
// Errors: LOGS-0040 (no usable line).
base::Result<SeriesSet> ParseMlflowMetric(std::string_view text, std::string_view name);

// A folder with meta.yaml and metrics/.
bool LooksLikeMlflowRun(const std::string& folder);

// All metrics of a run (keys with "/" are sub-folders, 8 deep at most, 20000 files at
// most, 1 GiB in all); start, end and name of meta.yaml and params become facts.
// Errors: LOGS-0041 (no metric), LOGS-0042 (too many or too large).
base::Result<SeriesSet> ReadMlflowRun(const std::string& folder);

}  // namespace stepslack::logs

// MLPerf logs (stepslack/trace/mllog.h) as series: evaluations and logged throughput.
#pragma once

#include <string_view>

#include "stepslack/base/result.h"
#include "stepslack/logs/series_set.h"
#include "stepslack/trace/mllog.h"

namespace stepslack::logs {

// The log counts no steps: a point's step is its number. Point::samples is
// samples_count where the log has it; otherwise by the benchmark: resnet, unet3d and
// their like have an epoch, times train_samples; bert and gpt3 log a count of samples
// (tokens) as the epoch, some bert logs 1 for all of train_samples. facts: benchmark,
// submitter, platform, seed, status, run_seconds, init_seconds, eval_seconds, and
// samples (the last evaluation's; tokens for gpt3). Series: eval_accuracy (or the
// metric's own name), throughput as logged, and derived samples_per_second
// (tokens_per_second for gpt3): samples / seconds of the whole run, evaluations
// included.
SeriesSet FromMllog(const trace::MllogRun& run, std::string_view name);

// Errors: TRACE-0143 (no usable line), LOGS-0050 (no evaluation and no throughput).
base::Result<SeriesSet> ParseMllogSeries(std::string_view text, std::string_view name);

}  // namespace stepslack::logs

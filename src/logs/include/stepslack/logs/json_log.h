// JSON documents with a shape of their own.
#pragma once

#include <string_view>

#include "stepslack/base/result.h"
#include "stepslack/logs/series_set.h"

namespace stepslack::logs {

// trainer_state.json of the Hugging Face Trainer: log_history. Rows of training,
// evaluation, and the totals at the end (train_runtime: their train_loss is the mean
// over the run and becomes train_loss_mean). The batch of the job follows from
// train_samples_per_second x train_runtime / steps.
bool LooksLikeTrainerState(std::string_view text);
// Errors: BASE-0004 (no JSON), LOGS-0020 (no record).
base::Result<SeriesSet> ParseTrainerState(std::string_view text, std::string_view name);

// Golden values of Megatron-LM's functional tests: {"lm loss": {"start_step",
// "end_step", "step_interval", "values": {"1": 10.9, "2": "nan"}}}; older files have an
// array of values.
bool LooksLikeGoldenValues(std::string_view text);
// Errors: BASE-0004 (no JSON), LOGS-0021 (no value).
base::Result<SeriesSet> ParseGoldenValues(std::string_view text, std::string_view name);

}  // namespace stepslack::logs

// Metric lines in what training programs print, of all these, mixed as they come:
//   Megatron-LM and forks   iteration 20/100 | consumed samples: 20 | ... | lm loss:
//   ... |
//                           (also "validation loss at iteration 100 | lm loss value:
//                           ...")
//   NeMo 2                  Training epoch 0, iteration 1/99 | lr: ... | global_step: 1
//   ... torchtitan              step: 10  loss: 10.7  memory: 31GiB(33%)  tps: 7,034
//   ... DeepSpeed               [... timer.py:260:stop] ... global_step=199, ...
//                           [... log_dist] [Rank 0] step=200, skipped=4, lr=[...]
//                           [... log_dist] ... time (ms) | fwd: 1 | bwd: 2 | step: 3
//   Hugging Face            {'loss': 2.075, 'learning_rate': 0.0002, 'epoch': 0.04}
// Colours, rank prefixes and dates before the record are taken off. Every program has
// its own count of steps; a step that goes back, or comes again with other values,
// begins a new segment. The same step from another rank, and the same line again, are
// counted and left out.
//
// Numbers are read as printed. Units become seconds and bytes (DeepSpeed's GB and
// torchtitan's GiB are 2^30, Megatron's MB is 2^20). Dates without a zone:
// Clock::kLocal.
#pragma once

#include <string_view>

#include "stepslack/base/result.h"
#include "stepslack/logs/series_set.h"

namespace stepslack::logs {

bool LooksLikeTextLog(std::string_view text);

// Counted: lines without metrics, lines cut short, lines joined, records of other
// ranks, repeated lines, restarts, fields that are no number, NaN and infinities,
// skipped steps. Errors: LOGS-0001 (no metric line).
base::Result<SeriesSet> ParseTextLog(std::string_view text, std::string_view name);

}  // namespace stepslack::logs

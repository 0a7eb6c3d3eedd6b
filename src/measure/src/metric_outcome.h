// How a run ended by its metric log, whatever program wrote it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "stepslack/analyze/run_outcome.h"
#include "stepslack/base/result.h"
#include "stepslack/logs/series_set.h"

namespace stepslack::measure {

struct MetricTarget {
  std::string metric;  // canonical or the log's own name
  bool at_most = false;
  double bound = 0;
};

// "accuracy>=0.9" or "loss<=2.5". Errors: RUNS-0100 (no such form).
base::Result<MetricTarget> ParseTarget(std::string_view text);

// Time to the target: from the first to the target's time stamp of the log; without
// time stamps the sum of step_seconds up to it (derived). Samples: those of the point,
// else step x global batch (derived). `reason` names all that is missing or derived;
// the status is success only when the target was met, aborted when the log has the
// metric without meeting it, else truncated.
analyze::RunOutcome OutcomeOfLog(const logs::SeriesSet& log,
                                 const std::optional<MetricTarget>& target);

}  // namespace stepslack::measure

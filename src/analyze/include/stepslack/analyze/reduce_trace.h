// From the events of one rank to its RankTrace.
#pragma once

#include <string>

#include "stepslack/analyze/rank_trace.h"

namespace stepslack::analyze {

// `store` is sorted and may come from any reader; `source` is the file to name. Ranks
// without device work are measured on the CPU. O(events log events).
RankTrace ReduceTrace(const trace::EventStore& store, const std::string& source);

}  // namespace stepslack::analyze

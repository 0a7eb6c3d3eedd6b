// How long the run would have taken on a network that transfers in no time.
#pragma once

#include <cstdint>

#include "rank_activity.h"

namespace stepslack::analyze {

// From the first start to the last end of the replay. Each rank keeps its own pieces;
// exposed transfers take no time, and an exposed wait that its collective ended lasts
// until the last rank arrives in the replay. Never more than the real length, never
// less than the compute of any rank.
int64_t ReplayWithoutTransfer(const RankWindows& windows, const CrossRank& cross);

}  // namespace stepslack::analyze

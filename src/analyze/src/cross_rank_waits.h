// Sums over accepted collectives: the parts of a CrossRank that follow from them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "stepslack/analyze/cross_rank.h"

namespace stepslack::analyze {

// When each rank (dense order) entered what was seen, on the common clock: its first
// step, or the start of its window when some rank has no steps.
std::vector<int64_t> EntryTimes(std::span<const RankTrace> traces,
                                std::span<const size_t> trace_of_rank,
                                std::span<const int64_t> corrections);

// Fills `waits` and `rows` of `cross` from its collectives. `ranks` ascending.
void SummariseWaits(std::span<const int32_t> ranks, std::span<const int64_t> entries,
                    double inherited_share, CrossRank& cross);

// Rows of all operations, also of those that nothing could be matched of.
std::vector<OperationRow> RowsOfOperations(std::span<const RankTrace> traces,
                                           const CrossRank& cross);

// Sum that stays at the largest value instead of overflowing.
int64_t AddNs(int64_t a, int64_t b);

}  // namespace stepslack::analyze

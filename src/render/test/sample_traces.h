// Invented traces of a data-parallel training, for tests and for looking at: forward,
// backward with overlapped all-reduces, an optimizer, and one rank that is late.
#pragma once

#include <cstdint>
#include <vector>

#include "stepslack/analyze/rank_trace.h"

namespace stepslack::render {

// Every rank has `steps` steps of 10 ms; rank 2 computes 3 ms longer in step 1, and all
// others wait for it. Times start at 1 s.
std::vector<analyze::RankTrace> SampleTraces(int32_t ranks, int64_t steps);

}  // namespace stepslack::render

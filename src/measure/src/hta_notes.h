// Where our numbers differ from those of Holistic Trace Analysis 0.6, and why.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "stepslack/analyze/rank_trace.h"
#include "stepslack/measure/trace_report.h"

namespace stepslack::measure {

std::vector<Footnote> HtaNotes(std::span<const analyze::RankTrace> ranks);

}  // namespace stepslack::measure

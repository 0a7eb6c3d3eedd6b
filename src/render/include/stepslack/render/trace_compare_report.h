// The comparison of two sets of traces as text for a terminal, as markdown, and as
// tables for other renderings.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "stepslack/analyze/trace_compare.h"
#include "stepslack/render/report.h"

namespace stepslack::render {

// Device time, phases, kernels, collectives; empty ones left out. Times in us, per
// rank-step or per rank as the comparison's basis says. All rows.
std::vector<Table> CompareTables(const analyze::TraceComparison& comparison);

// Lines of at most 120 columns, `most_rows` of every table; what is cut is counted.
// Long kernel names are shortened; JSON and tables hold them as they are.
std::string RenderCompareText(const analyze::TraceComparison& comparison,
                              size_t most_rows = 20);

// At most 100 rows of every table; what is cut is counted.
std::string RenderCompareMarkdown(const analyze::TraceComparison& comparison);

}  // namespace stepslack::render

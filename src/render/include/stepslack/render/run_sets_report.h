// Figures of run sets and of projections past them: scaling, time to the target,
// throughput. Each figure is followed by its data when rendered.
#pragma once

#include <vector>

#include "stepslack/analyze/projection.h"
#include "stepslack/analyze/run_sets.h"
#include "stepslack/render/document.h"

namespace stepslack::render {

// One section with all sets in a table, then one for each family (benchmark and
// submitter) with two world sizes or more, or a time to the target: speedup and
// efficiency over workers (log2) with the ideal line and intervals, share of runs still
// on their way, throughput of a worker over its batch. At most kMostFamilies have
// figures; what is left out is said. Empty without sets.
inline constexpr size_t kMostFamilies = 16;
std::vector<Section> RunSetSections(const analyze::RunSetReport& report);

// One section a family: measured and predicted throughput and time to the target over
// workers (log2), 80 % intervals.
Document ProjectionDocument(const analyze::ProjectionReport& report);

}  // namespace stepslack::render

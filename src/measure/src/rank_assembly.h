// Which file is which rank.
#pragma once

#include <vector>

#include "file_traces.h"

namespace stepslack::measure {

// Settles ranks: what the file says, else its name, else its place in the list. Pieces
// of one rank are read together; a second process that claims a rank is left out. Fills
// report.ranks, and notes everything that was decided in report.inputs and .missing.
void AssembleRanks(std::vector<FileTrace> traces, const ReadSettings& settings,
                   TraceReport& report);

}  // namespace stepslack::measure

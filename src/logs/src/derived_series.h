// What follows from logged series and is not logged itself.
#pragma once

#include "stepslack/logs/series_set.h"

namespace stepslack::logs {

// Batch and sequence length of the run where they do not change; samples of points
// (step x batch); seconds of a step from time stamps; samples and tokens per second.
// All marked as derived.
void AddDerived(SeriesSet& set);

}  // namespace stepslack::logs

// Effect, interval and verdict of one feature.
#pragma once

#include <string>
#include <vector>

#include "feature_cells.h"

namespace stepslack::drift {

// Effect, shift and margin, with intervals from the resampled groups (`weights`, one
// vector of cell weights a resample). The interval of the distance is moved by the
// bootstrap's own estimate of its bias, for a distance of samples is never 0.
void Measure(const FeatureCells& cells, const data::Column& reference,
             const GroupDesign& design, const std::vector<std::vector<double>>& weights,
             const DriftOptions& options, FeatureDrift& out);

// After p_adjusted is known.
void Judge(const DriftOptions& options, double least_p, FeatureDrift& out);

}  // namespace stepslack::drift

// The one door to XGBoost's C interface.
#pragma once

#include <span>
#include <vector>

#include "stepslack/learner/learner.h"

namespace stepslack::learner {

// Both matrices have the same number of columns, at least one, and at least one row;
// labels are finite. One thread: the order of XGBoost's sums depends on their number.
base::Result<std::vector<double>> BoostedTrees(const Matrix& train,
                                               std::span<const double> labels,
                                               const Matrix& test,
                                               const LearnerOptions& options);

}  // namespace stepslack::learner

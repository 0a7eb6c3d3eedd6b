// Ridge regression by normal equations (Hoerl and Kennard, Technometrics 1970).
#pragma once

#include <span>
#include <vector>

#include "stepslack/learner/learner.h"

namespace stepslack::learner {

// Columns are standardised with the means and deviations of `train`; a missing value
// takes its column's mean. Minimises sum (y - b0 - z b)^2 + l2 * b'b, the intercept
// free. Binary: the same fit of 0 and 1, cut to [0, 1]. LEARN-0006 too many columns.
base::Result<std::vector<double>> Ridge(const Matrix& train,
                                        std::span<const double> labels,
                                        const Matrix& test,
                                        const LearnerOptions& options);

}  // namespace stepslack::learner

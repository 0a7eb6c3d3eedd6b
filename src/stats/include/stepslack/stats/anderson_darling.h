// Anderson-Darling test of two samples, which looks at the tails more than KS and CvM.
#pragma once

#include <span>

#include "stepslack/stats/exact_tests.h"

namespace stepslack::stats {

// Normalised midrank statistic (A2akN - 1) / sigma_N of Scholz and Stephens 1987 for k
// = 2, as scipy.stats.anderson_ksamp(midrank=True): about 0 when nothing differs,
// and any real number. NaN when a sample is empty, a value is not finite, fewer than
// four values are there in all, or all values are equal.
double AndersonDarlingStatistic(std::span<const double> x, std::span<const double> y);

// p by permutation (all splits when C(m + n, m) is small). SciPy interpolates a table
// instead and clips p to [0.001, 0.25].
TestResult AndersonDarlingTest(std::span<const double> x, std::span<const double> y,
                               const PermutationOptions& options = {});

}  // namespace stepslack::stats

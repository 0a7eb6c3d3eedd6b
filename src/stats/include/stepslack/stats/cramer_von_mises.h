// Cramer-von Mises test of two samples: T = m n / (m + n)^2 sum (F - G)^2 over the
// pooled values (Anderson 1962). No unit.
#pragma once

#include <span>

#include "stepslack/stats/exact_tests.h"

namespace stepslack::stats {

// T through midranks, as SciPy does; NaN for an empty sample or a value that is not
// finite.
double CramerVonMisesStatistic(std::span<const double> x, std::span<const double> y);

// P(T >= t) in the limit of large samples (Csorgo and Faraway 1996, equation 1.2).
double CramerVonMisesLimitP(double t);

// p is exact when there are no ties, m n <= 2500 and the path sums are not too many
// (always up to 12 a side): the frequencies of all lattice paths (Xiao, Gordon and
// Yakovlev 2007). Else the limit, with T standardised to the
// limit's mean and variance (Anderson 1962), as SciPy does.
TestResult CramerVonMisesTest(std::span<const double> x, std::span<const double> y);

}  // namespace stepslack::stats

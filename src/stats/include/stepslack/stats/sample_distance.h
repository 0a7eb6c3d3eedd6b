// Distances between two samples of numbers, from the area between their empirical
// distribution functions F and G.
#pragma once

#include <span>

#include "stepslack/stats/exact_tests.h"

namespace stepslack::stats {

// All are NaN when a sample is empty or a value is not finite.

// W1 = integral |F - G|, in the unit of the values (Wasserstein, earth mover's).
double Wasserstein1(std::span<const double> x, std::span<const double> y);

// W1 over the population deviation (n, not n - 1) of `reference`: no unit, so 0.1 means
// a tenth of a deviation. `least_deviation` > 0 floors the divisor as Evidently does
// (0.001): do not use it for values whose own unit makes them small, e.g. farads,
// where any shift then vanishes. Infinite when the divisor is zero and W1 is not.
double NormalisedWasserstein1(std::span<const double> reference,
                              std::span<const double> current,
                              double least_deviation = 0);

// W1 after both samples were mapped to [0, 1] by the pooled minimum and maximum; 0 when
// all values are equal. One outlier shrinks everything else: read it beside W1.
double RangeScaledWasserstein1(std::span<const double> x, std::span<const double> y);

// sqrt(2 integral (F - G)^2), as scipy.stats.energy_distance: root of the unit. Its
// square is 2 E|X-Y| - E|X-X'| - E|Y-Y'| with V-statistics (Szekely and Rizzo 2013).
double EnergyDistance(std::span<const double> x, std::span<const double> y);

// Permutation p of the energy distance; at most 5000 values in all.
TestResult EnergyTest(std::span<const double> x, std::span<const double> y,
                      const PermutationOptions& options = {});

}  // namespace stepslack::stats

// Full two-level experiments: all 2^k mixes of good (0) and bad (1) settings were
// measured once, e.g. to find which of several changed layers made steps slow.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace stepslack::stats {

// `y` has 2^factors values, 1 to 20 factors; bit factors - 1 - f of the index is the
// level of factor f, so that the index reads like "0110" from the first factor on.

// Mean of y at level 1 minus mean at level 0, for every factor; in the unit of y. Empty
// when the size is no such power or a value is not finite.
std::vector<double> MainEffects(std::span<const double> y, int factors);

// Effect of the factors whose bits are set in `mask` (same bit order) together: 2^(1 -
// factors) times the sum of y, signed + when the number of those factors at level 0 is
// even (Box, Hunter and Hunter 2005, section 5.5). One bit gives the main effect, two
// bits half the change of one effect by the other. Nothing for mask 0, bits beyond the
// factors, or what MainEffects refuses.
std::optional<double> FactorialContrast(std::span<const double> y, int factors,
                                        uint32_t mask);

}  // namespace stepslack::stats

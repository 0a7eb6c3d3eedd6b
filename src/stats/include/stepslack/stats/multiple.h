// Adjusted p values when many questions are asked of the same data. The order of the
// result is that of the input; a p that is NaN or outside [0, 1] counts as 1.
#pragma once

#include <span>
#include <vector>

namespace stepslack::stats {

// min(1, m p): family-wise error, any dependence.
std::vector<double> BonferroniAdjust(std::span<const double> p);
// Holm 1979: family-wise error, any dependence, never weaker than Bonferroni.
std::vector<double> HolmAdjust(std::span<const double> p);
// Benjamini and Hochberg 1995: false discovery rate, independent or positively
// dependent.
std::vector<double> BenjaminiHochbergAdjust(std::span<const double> p);
// Hochberg 1988: family-wise error, independent or positively dependent; never weaker
// than Holm.
std::vector<double> HochbergAdjust(std::span<const double> p);
// Benjamini and Yekutieli 2001: false discovery rate, any dependence.
std::vector<double> BenjaminiYekutieliAdjust(std::span<const double> p);

// Chance of at least one false alarm in `tests` independent tests at `alpha`.
double FamilyWiseError(double alpha, int tests);

}  // namespace stepslack::stats

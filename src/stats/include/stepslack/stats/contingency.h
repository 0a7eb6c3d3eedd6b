// Tables of counts: are the rows drawn from one distribution?
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace stepslack::stats {

struct ContingencyResult {
  std::optional<double> chi2;
  std::optional<double> p;
  int64_t degrees = 0;
  std::optional<double> cramers_v;
  // Bergsma 2013: phi^2 and both sides of the table are corrected for their bias.
  std::optional<double> cramers_v_corrected;
  double least_expected = 0;  // below 5 the chi-squared p is rough (Cochran 1954)
  std::string method;
};

// Pearson's chi-squared of homogeneity for a table of `rows` rows, stored row by row.
// Rows and columns of zeros are left out. No continuity correction, also for 2 x 2
// (SciPy corrects there unless told not to; `yates` gives its value: every |o - e| is
// reduced by 0.5, but not below 0; it has an effect only at one degree of freedom). V =
// sqrt(chi2 / n / min(r - 1, k - 1)), always from the uncorrected chi2. Counts may be
// weights but not negative.
ContingencyResult ChiSquaredTest(std::span<const double> table, size_t rows,
                                 bool yates = false);

// Fisher's exact p of [[a, b], [c, d]], two-sided: the sum of the probabilities of all
// tables that are not more likely than the observed one, with a relative tolerance of
// 1e-7 as R and SciPy. NaN for a negative count or a sum above 10 million.
double FisherExactP(int64_t a, int64_t b, int64_t c, int64_t d);

}  // namespace stepslack::stats

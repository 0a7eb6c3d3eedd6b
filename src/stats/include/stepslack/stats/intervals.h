// Confidence intervals for one sample, for ratios and for proportions. Every function
// returns an Estimate; when none can be made, value or interval are absent and `method`
// says why (empty sample, value that is not finite, too few values). `confidence` is
// the nominal two-sided level.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "stepslack/base/estimate.h"

namespace stepslack::stats {

// Mean with Student's t interval: mean +- t(n-1) s / sqrt(n). From two values on.
base::Estimate MeanInterval(std::span<const double> values, std::string_view unit,
                            std::string_view n_of, double confidence = 0.95);

// Mean of a[i] - b[i], t interval on the differences. The spans are equally long.
base::Estimate PairedMeanDifference(std::span<const double> a,
                                    std::span<const double> b, std::string_view unit,
                                    std::string_view n_of, double confidence = 0.95);

// Geometric mean of positive values: exp of the t interval on their logarithms.
base::Estimate GeometricMeanInterval(std::span<const double> values,
                                     std::string_view unit, std::string_view n_of,
                                     double confidence = 0.95);

// Ratio of geometric means of `a` over `b`, unpaired: Welch's t interval on logarithms.
// n counts both samples together.
base::Estimate LogRatioInterval(std::span<const double> a, std::span<const double> b,
                                std::string_view n_of, double confidence = 0.95);

// Geometric mean of a[i] / b[i]: t interval on log a[i] - log b[i]. n counts pairs.
base::Estimate PairedLogRatioInterval(std::span<const double> a,
                                      std::span<const double> b, std::string_view n_of,
                                      double confidence = 0.95);

// Proportion k / n. Wilson's score interval (Wilson 1927; Brown, Cai, DasGupta 2001).
base::Estimate WilsonInterval(int64_t successes, int64_t n, std::string_view n_of,
                              double confidence = 0.95);

// Proportion k / n. Clopper and Pearson 1934: covers at least the nominal level.
base::Estimate ClopperPearsonInterval(int64_t successes, int64_t n,
                                      std::string_view n_of, double confidence = 0.95);

// Two-sided p of k successes in n against probability p0: the sum of all outcomes that
// are not more likely than k (also the sign test and McNemar's exact test with p0 =
// 1/2). NaN when k is outside [0, n] or p0 outside [0, 1].
double BinomialTwoSidedP(int64_t successes, int64_t n, double p0);

// Median with the distribution-free interval [x(k), x(n+1-k)] (David and Nagaraja 2003,
// section 7.1): k is the largest with P(Binomial(n, 1/2) < k) <= (1 - confidence) / 2.
// `method` names k and the coverage reached, which is at least the nominal one. Below
// six values no such interval exists at 95 %.
base::Estimate MedianInterval(std::span<const double> values, std::string_view unit,
                              std::string_view n_of, double confidence = 0.95);

}  // namespace stepslack::stats

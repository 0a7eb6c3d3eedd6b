// Two-sample Kolmogorov-Smirnov distance D = max |F(t) - G(t)| over the pooled values,
// both empirical distribution functions right-continuous (P(X <= t)), and the p values
// that peers attach to it. D and p have no unit.
#pragma once

#include <cstdint>
#include <span>

#include "stepslack/stats/exact_tests.h"

namespace stepslack::stats {

// NaN when a sample is empty or a value is not finite.
double KsDistance(std::span<const double> x, std::span<const double> y);

// P(D >= d) for m and n values without ties: share of lattice paths that leave the band
// (Hodges 1958; the recursion of R's psmirnov). O(m n) time; NaN when m n > 25 million
// or an argument is out of range.
double KsExactP(double d, int64_t m, int64_t n);

// Limit 2 sum (-1)^(k-1) exp(-2 k^2 lambda^2): P(K >= lambda) (Kolmogorov 1933).
double KolmogorovUpperTail(double lambda);
// The same at lambda = d sqrt(m n / (m + n)): R's exact = FALSE, alibi-detect.
double KsLimitP(double d, double m, double n);

// P(D_n >= d), one sample of n against a known distribution (Marsaglia, Tsang and Wang
// 2003). SciPy's "asymp" p of two samples is this at n = round(m n / (m + n)). Above n
// = 500 the limit takes its place (error below 0.01 / sqrt(n) in p).
double KsOneSampleP(double d, int64_t n);

// D of values against Uniform(0, 1): max over i of max(i/n - v_i, v_i - (i-1)/n).
double KsDistanceToUniform(std::span<const double> values);

struct KsOptions {
  int64_t max_exact_product = 1'000'000;  // m n up to which p is exact
};

// Our convention: exact p given the ties. The paths may cross the band inside a group
// of equal values, where no distribution function can be seen (Schroeer and Trenkler
// 1995); without ties this is KsExactP. SciPy's and R's "exact" p ignores ties and is
// then too large. Above `max_exact_product`: the limit.
TestResult KsTest(std::span<const double> x, std::span<const double> y,
                  const KsOptions& options = {});

}  // namespace stepslack::stats

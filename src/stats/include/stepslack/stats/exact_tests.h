// Two-sample and paired tests that stay honest at a handful of runs, and the shift that
// goes with them. A test that can not be made has no p and says why in `method`.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "stepslack/base/estimate.h"

namespace stepslack::stats {

struct TestResult {
  std::optional<double> statistic;
  std::optional<double> p;        // two-sided
  std::optional<double> p_error;  // standard error of p when it is a Monte Carlo value
  int64_t arrangements = 0;       // enumerated or drawn
  bool exact = false;             // p comes from all arrangements
  std::string method;
};

struct PermutationOptions {
  int64_t max_enumerated = 200'000;  // more arrangements than this: Monte Carlo
  int64_t resamples = 50'000;        // at least 1
  uint64_t seed = 1;
};

// (exceed + 1) / (resamples + 1): a Monte Carlo p is never zero (Phipson and Smyth
// 2010).
double MonteCarloP(int64_t exceed, int64_t resamples);

// Permutation test of mean(x) - mean(y) over all C(n, k) splits (Fisher; Good 2005), or
// over seeded random splits when there are too many. Two-sided p is twice the smaller
// one-sided p, at most 1; differences within rounding of the observed one count as
// equal.
TestResult PermutationTest(std::span<const double> x, std::span<const double> y,
                           const PermutationOptions& options = {});

// Sign-flip permutation test of mean(differences) over all 2^n sign patterns: p is the
// share of patterns whose |mean| is at least the observed one.
TestResult SignFlipTest(std::span<const double> differences,
                        const PermutationOptions& options = {});

struct MannWhitneyResult {
  std::optional<double> u;             // pairs with x > y, plus half the ties
  std::optional<double> superiority;   // P(x > y) + P(x = y) / 2
  std::optional<double> p_exact;       // absent when the samples are too large
  std::optional<double> p_asymptotic;  // tie-corrected variance, continuity 0.5
  bool ties = false;
  std::string method;  // names the p to use: exact when present
};

// Mann and Whitney 1947. The exact p is conditional on the ties (midranks): it counts
// all rank subsets by dynamic programming, two-sided as twice the smaller tail.
MannWhitneyResult MannWhitney(std::span<const double> x, std::span<const double> y);

// Shift of x against y: median of all differences (Hodges and Lehmann 1963). Without
// ties and with at most 50 values a side the interval is exact: order statistics of the
// differences at the Mann-Whitney quantile (Hollander and Wolfe 1999, section 4.3).
// Else it inverts the tie-corrected normal test with continuity 0.5. At most 4 million
// pairs.
base::Estimate HodgesLehmannShift(std::span<const double> x, std::span<const double> y,
                                  std::string_view unit, std::string_view n_of,
                                  double confidence = 0.95);

struct WelchResult {
  std::optional<double> t;
  std::optional<double> p;
  std::optional<double> degrees;
  std::optional<double> cohen_d;   // pooled standard deviation
  std::optional<double> hedges_g;  // cohen_d * (1 - 3 / (4 (nx + ny - 2) - 1))
  base::Estimate difference;       // mean(x) - mean(y) with its t interval
};

// Welch 1947; degrees of freedom by Welch and Satterthwaite. Two values a side at
// least.
WelchResult WelchTest(std::span<const double> x, std::span<const double> y,
                      std::string_view unit, std::string_view n_of,
                      double confidence = 0.95);

}  // namespace stepslack::stats

// Student's and Wilcoxon's tests of paired differences, e.g. of two options under the
// same seeds. The t interval, the sign test and the sign-flip test stand in intervals.h
// and exact_tests.h.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "stepslack/stats/exact_tests.h"

namespace stepslack::stats {

// t = mean / (s / sqrt(n)), two-sided p with n - 1 degrees (Student 1908). From two
// differences on that are not all equal.
TestResult PairedTTest(std::span<const double> differences);

struct SignedRankResult {
  std::optional<double> w;       // SciPy: the smaller of the two rank sums
  std::optional<double> w_plus;  // R's V: rank sum of the positive differences
  std::optional<double> p;       // two-sided
  bool exact = false;
  int64_t zeros = 0;  // differences of zero, left out (Wilcoxon's own rule)
  std::string method;
};

// Wilcoxon 1945. Exact by dynamic programming over midranks, so also with ties, up to
// 400 differences; two-sided p is twice the smaller tail, at most 1. Beyond: normal
// with tie-corrected variance and continuity 0.5. R and SciPy fall back to the normal
// whenever there are ties.
SignedRankResult SignedRankTest(std::span<const double> differences);

}  // namespace stepslack::stats

// Maximum mean discrepancy of two samples of vectors (Gretton et al. 2012).
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "stepslack/stats/exact_tests.h"

namespace stepslack::stats {

// `width` values a row, rows one after the other. All rows have the same width.
struct Rows {
  std::span<const double> values;
  size_t width = 1;
  size_t size() const { return width == 0 ? 0 : values.size() / width; }
};

struct MmdResult {
  std::optional<double> mmd2;  // unbiased (U-statistic): may be negative
  std::optional<double> median_squared_distance;
  TestResult test;  // permutation p, observed split included
};

// Kernel exp(-|a - b|^2 / h) with h the median squared distance over all pairs of
// different pooled rows, the same for all permutations. No value when a side has fewer
// than two rows, widths differ, a value is not finite, there are more than 2000 rows in
// all, or h is zero. O(resamples rows^2): the resamples are reduced when that is too
// much (99 at least), and `method` states how many were drawn.
MmdResult MmdTest(const Rows& x, const Rows& y, const PermutationOptions& options = {});

}  // namespace stepslack::stats

// Where a series of measurements changes its level and stays there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace stepslack::stats {

struct ChangePoint {
  size_t index = 0;   // first value of the new level
  double before = 0;  // median of the segment before, and
  double after = 0;   // of the one after, up to the neighbouring change points
  double p = 0;       // Monte Carlo permutation p of this split
};

struct ChangePointOptions {
  size_t min_segment = 5;  // values on either side; at least 2
  double alpha = 0.01;     // for each split
  int64_t resamples = 999;
  uint64_t seed = 1;
  size_t max_points = 20;
  // Smaller changes of the median, as a share of `before`, are not reported.
  double min_relative_change = 0;
};

// Binary segmentation (Scott and Knott 1974). A segment is split if a seeded
// permutation test on ranks rejects one level: the statistic is the largest |S_k - k (n
// + 1) / 2| / sqrt(k (n - k)) over k, with S_k the sum of the first k midranks (Pettitt
// 1979, standardised), so single outliers carry no weight. The split is then put where
// the sum of distances to the medians of both sides is least, which hits the place
// exactly where ranks alone are drawn to the middle. The permutations assume values
// that are exchangeable under one level: strongly correlated neighbours give too many
// splits. Ordered by index; same input, same result. Values must be finite, else no
// points. O(resamples * n) a split; series above 20,000 values are first reduced to
// medians of equal blocks, whose edges are then the possible indices.
std::vector<ChangePoint> FindChangePoints(std::span<const double> values,
                                          const ChangePointOptions& options = {});

}  // namespace stepslack::stats

// E-divisive change points: any change of distribution (level, spread, shape), by the
// energy distance between the parts (Matteson and James 2014). change_points.h finds
// changes of level only and is quicker.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace stepslack::stats {

struct EnergySplit {
  size_t index = 0;                // first value of the second part
  double q = 0;                    // the largest of `q_by_index`
  std::vector<double> q_by_index;  // at split 2, 3, ..., n - 2
};

// Q(k) = m n / (m + n) (2 E|X - Y| - E|X - X'| - E|Y - Y'|), alpha = 1, U-statistics, X
// the first k = m values. In the unit of the values. Nothing below four values, above
// 5000, or when a value is not finite. O(n^2).
std::optional<EnergySplit> FindEnergySplit(std::span<const double> values);

// k in [1, n - 1] with the largest |sum of the first k values - k mean|: the classic
// CUSUM place of a change of mean (the last of equals is not taken). 0 below two
// values, or when a value is not finite.
size_t CusumSplit(std::span<const double> values);

struct EnergyChangePoint {
  size_t index = 0;
  double q = 0;
  double p = 1;  // of this split, given those before it
};

struct EnergyChangeOptions {
  size_t min_segment = 5;  // at least 2
  double alpha = 0.05;
  int64_t resamples = 199;  // 19 to 9999
  uint64_t seed = 1;
  size_t max_points = 20;
};

struct EnergyChangePoints {
  std::vector<EnergyChangePoint> points;  // ordered by index
  std::string method;
};

// The best split of all segments is tested by shuffling values within the segments (p =
// (exceed + 1) / (resamples + 1)); segments are split until it is not significant. The
// second part of a split runs to the end of its segment (the R package ecp also tries
// shorter ones). Shuffling assumes independent values: autocorrelated steps give too
// many points, so thin them or take medians of blocks first. At most 2000 values, and
// n^2 * resamples at most 2e9.
EnergyChangePoints FindEnergyChangePoints(std::span<const double> values,
                                          const EnergyChangeOptions& options = {});

}  // namespace stepslack::stats

#include "norms.h"

#include <cmath>
#include <cstddef>

namespace stepslack::train {
namespace {

// Independent partial sums let the compiler vectorise, and hide the latency of an
// addition; their number and order are fixed, whatever the width of the vectors.
constexpr size_t kLanes = 32;

__attribute__((target_clones("avx512f", "avx2", "default"))) double Sum(
    const float* values, size_t count) {
  double sums[kLanes] = {};
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      const auto value = static_cast<double>(values[i + lane]);
      sums[lane] += value * value;
    }
  }
  for (size_t lane = 0; i < count; ++i, ++lane) {
    const auto value = static_cast<double>(values[i]);
    sums[lane] += value * value;
  }
  double total = 0;
  for (double sum : sums) total += sum;
  return total;
}

}  // namespace

double SumOfSquares(std::span<const float> values) {
  return Sum(values.data(), values.size());
}

double GlobalNorm(std::span<const float> values) {
  return std::sqrt(SumOfSquares(values));
}

}  // namespace stepslack::train

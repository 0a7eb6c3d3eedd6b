// Euclidean norms of flat buffers.
#pragma once

#include <span>

namespace stepslack::train {

// Sum of squares in double, in an order that depends on the length only. Not finite
// when a value is not: squares of finite floats can not overflow a double.
double SumOfSquares(std::span<const float> values);

// Square root of the sum of squares.
double GlobalNorm(std::span<const float> values);

}  // namespace stepslack::train

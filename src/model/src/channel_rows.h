// Loops over one row of values of a channel, compiled for wide vectors where the
// processor has them.
#pragma once

#include <cstdint>

namespace stepslack::model {

struct RowSums {
  double first = 0;
  double second = 0;
};

// y = (x - mean) * factor + shift, cut off below zero if `relu`.
struct RowScale {
  float mean = 0;
  float factor = 1;
  float shift = 0;
  bool relu = false;
};

// sum x and sum x^2.
RowSums MomentsOfRow(const float* x, int64_t count);
void NormaliseRow(const RowScale& scale, const float* x, float* y, int64_t count);
// sum dy and sum dy * (x - mean), dy zero where y is cut off.
RowSums SlopesOfRow(const RowScale& scale, const float* x, const float* dy,
                    int64_t count);
// dx = factor * (dy - slope - (x - mean) * product).
void BackPropagateRow(const RowScale& scale, float slope, float product, const float* x,
                      const float* dy, float* dx, int64_t count);

}  // namespace stepslack::model

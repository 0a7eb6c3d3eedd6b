// The eight symmetries of a square map; the four that keep the shape of a rectangle.
#pragma once

#include <cstdint>

namespace stepslack::train {

// Transforms 0 .. count-1 may be applied to a height x width map; 0 is the identity.
constexpr int DihedralCount(int64_t height, int64_t width) {
  return height == width ? 8 : 4;
}

// Transforms 0 .. 3 only flip.
constexpr int kFlipCount = 4;

// Bit 0 flips rows, bit 1 flips columns, bit 2 swaps the axes (square maps only).
void ApplyDihedral(int transform, int64_t height, int64_t width, const float* in,
                   float* out);

}  // namespace stepslack::train

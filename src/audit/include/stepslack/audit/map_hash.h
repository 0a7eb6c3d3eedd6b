// A 64-bit perceptual hash of a map that is the same for its flips, turns and
// transposes, and barely moves with noise, scale and offset.
//
// The map is averaged over a 32 x 32 grid of equal areas. Four pictures of it (the
// values, values above their mean, size of the gradient, size of the curvature) are
// each averaged over the eight symmetries of the square, which makes them exactly
// invariant, and 16 signs of low-frequency cosine coefficients of each make the bits
// (signs of a cosine transform: Zauner, "Implementation and benchmarking of perceptual
// image hash functions", 2010). Crops are not recognised: they need tiles.
#pragma once

#include <cstdint>
#include <span>

namespace stepslack::audit {

// Maps at this Hamming distance or nearer are held to be one content.
constexpr int kMapHashCut = 6;

struct MapHash {
  uint64_t bits = 0;
  bool usable = false;  // false: constant, or with values that are not finite
};

// Row-major plane of height * width values, both at least 1.
MapHash HashMap(std::span<const float> plane, int64_t height, int64_t width);

int HashDistance(uint64_t a, uint64_t b);  // bits that differ

}  // namespace stepslack::audit

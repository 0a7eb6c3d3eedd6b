// Ranking and neighbourhoods on one plane.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace stepslack::quality {

// Mask of the `count` largest values; of equal values the earlier position wins.
std::vector<uint8_t> LargestMask(std::span<const float> values, int64_t count);

// Mask grown by `radius` in both directions: a square of 2 radius + 1 around each
// pixel.
std::vector<uint8_t> Dilate(std::span<const uint8_t> mask, int64_t height,
                            int64_t width, int64_t radius);

int64_t CountBoth(std::span<const uint8_t> a, std::span<const uint8_t> b);

// Positions by descending value; of equal values the earlier position first.
std::vector<size_t> DescendingOrder(std::span<const float> values);

// Largest value of each of rows * columns blocks; block i of n along a side of length s
// covers floor(i s / n) to floor((i + 1) s / n). rows <= height, columns <= width.
std::vector<float> BlockMaxima(std::span<const float> values, int64_t height,
                               int64_t width, int64_t rows, int64_t columns);

}  // namespace stepslack::quality

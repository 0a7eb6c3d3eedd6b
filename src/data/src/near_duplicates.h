// Maps that are nearly the same up to scale, noise, size, flips and turns.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "stepslack/data/audit.h"
#include "stepslack/data/map_collection.h"

namespace stepslack::data {

constexpr int kDescriptorSide = 8;
using Descriptor = std::array<float, kDescriptorSide * kDescriptorSide>;

// The plane divided by its mean magnitude and averaged over an 8x8 grid of equal areas
// (pixels on a border count by the part that lies inside). Zeros for an all-zero plane.
Descriptor DescriptorOf(const std::vector<float>& plane, int64_t height, int64_t width);

// Every pair is compared over the eight transforms: the distance is the largest, over
// the continuous channels and the target, of |a - b| / max(|a|, |b|) between
// descriptors. A pair is skipped only when a lower bound that holds for all transforms
// exceeds the threshold, so the result is that of the full comparison.
NearDuplicates FindNearDuplicates(const MapCollection& collection, double threshold,
                                  int threads);

}  // namespace stepslack::data

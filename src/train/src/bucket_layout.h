// Which ranges of the flat gradient buffer are summed over ranks together.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "stepslack/model/parameter_layout.h"

namespace stepslack::train {

struct Bucket {
  int64_t begin = 0;  // floats, into the gradient buffer
  int64_t end = 0;
  std::vector<size_t> parameters;
};

struct BucketLimits {
  int64_t first_bytes = 64 << 10;
  int64_t bytes = 1 << 20;
  int64_t last_bytes = 64 << 10;
};

// Buckets from the end of the buffer to its begin, which is the order in which
// gradients become ready. The first holds the `tail` floats behind the last parameter
// and is kept small so that the exchange starts early; the last, of the layers that the
// forward pass uses first, is kept small because no computation is left to hide it. A
// parameter is never cut, so a bucket exceeds its limit when one parameter does. The
// layout follows from its arguments only: it is part of what makes a run reproducible.
std::vector<Bucket> PlanBuckets(std::span<const model::ParameterInfo> parameters,
                                int64_t buffer_floats, const BucketLimits& limits);

// The same, but no bucket holds parameters of two blocks; `block_starts`: the first
// parameter of each block, ascending from 0. `last_bytes` does not count.
std::vector<Bucket> PlanBucketsByBlock(std::span<const model::ParameterInfo> parameters,
                                       int64_t buffer_floats,
                                       const BucketLimits& limits,
                                       std::span<const size_t> block_starts);

}  // namespace stepslack::train

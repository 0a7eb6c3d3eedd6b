// Sums over the buffers of several ranks in the fixed order 0..n-1, so that the bits do
// not depend on who sums, on the block or on the order of arrival.
#pragma once

#include <cstddef>
#include <span>

#include "stepslack/comm/transport.h"

namespace stepslack::comm {

// Each output gets the sum of `count` elements of all sources. An output may be one of
// the sources (same address); other overlap is not allowed. kBFloat16 is summed in
// float32 and rounded once, to nearest even; kInt64 wraps. Not for kByte.
void SumOver(std::span<const void* const> sources, std::span<void* const> outputs,
             size_t count, DType dtype);

// Conversions of `count` elements, bits as above.
void WidenBFloat16(const void* from, float* to, size_t count);
void RoundToBFloat16(const float* from, void* to, size_t count);

}  // namespace stepslack::comm

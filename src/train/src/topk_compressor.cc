#include "topk_compressor.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>

namespace stepslack::train {
namespace {

struct Pair {
  uint32_t index = 0;
  float value = 0;
};

// Orders like the magnitude; above infinity for what is no number.
uint32_t MagnitudeBits(float value) {
  return std::bit_cast<uint32_t>(value) & 0x7FFFFFFFU;
}

constexpr int kBinShift = 19;  // 4096 bins: exponent and 4 bits of the mantissa

struct Threshold {
  uint32_t bits = 0;  // magnitude of the `count`-th largest value
  size_t larger = 0;  // values above it, fewer than `count`
};

Threshold FindThreshold(std::span<const float> values, size_t count) {
  std::vector<uint32_t> bins(size_t{1} << (31 - kBinShift));
  for (float value : values) ++bins[MagnitudeBits(value) >> kBinShift];
  size_t above = 0;  // values in higher bins
  size_t bin = bins.size() - 1;
  while (above + bins[bin] < count) above += bins[bin--];
  std::vector<uint32_t> inside;
  inside.reserve(bins[bin]);
  for (float value : values) {
    const uint32_t bits = MagnitudeBits(value);
    if ((bits >> kBinShift) == bin) inside.push_back(bits);
  }
  const auto nth = inside.begin() + static_cast<std::ptrdiff_t>(count - above - 1);
  std::nth_element(inside.begin(), nth, inside.end(), std::greater<>());
  const auto larger =
      std::count_if(inside.begin(), nth, [&](uint32_t bits) { return bits > *nth; });
  return {*nth, above + static_cast<size_t>(larger)};
}

}  // namespace

std::vector<uint32_t> LargestMagnitudes(std::span<const float> values, size_t count) {
  count = std::min(count, values.size());
  std::vector<uint32_t> chosen;
  if (count == 0) return chosen;
  const Threshold threshold = FindThreshold(values, count);
  size_t equal_left = count - threshold.larger;
  chosen.reserve(count);
  for (size_t i = 0; i < values.size(); ++i) {
    const uint32_t bits = MagnitudeBits(values[i]);
    if (bits < threshold.bits) continue;
    if (bits == threshold.bits && equal_left == 0) continue;
    if (bits == threshold.bits) --equal_left;
    chosen.push_back(static_cast<uint32_t>(i));
  }
  return chosen;
}

TopKCompressor::TopKCompressor(double share,
                               std::vector<model::ParameterInfo> parameters,
                               size_t buffer_floats)
    : Compressor(buffer_floats) {
  int64_t scalars = 0;
  for (const model::ParameterInfo& info : parameters) scalars += info.count;
  count_ = static_cast<size_t>(
      std::max<int64_t>(1, std::llround(share * static_cast<double>(scalars))));
}

base::Status TopKCompressor::Exchange(std::span<float> gradients,
                                      comm::Communicator& communicator) {
  const size_t count = residual_.size();
  for (size_t i = 0; i < count; ++i) residual_[i] += gradients[i];
  const std::vector<uint32_t> chosen = LargestMagnitudes(residual_, count_);
  std::vector<Pair> pairs;
  pairs.reserve(chosen.size());
  for (uint32_t index : chosen) {
    pairs.push_back({index, residual_[index]});
    residual_[index] = 0;
  }
  const size_t bytes = pairs.size() * sizeof(Pair);
  const auto* first = reinterpret_cast<const char*>(pairs.data());
  payload_.assign(first, first + bytes);
  std::fill_n(gradients.begin(), count, 0.0F);
  return Gather(gradients.subspan(count), communicator, [&](const char* theirs) {
    std::memcpy(pairs.data(), theirs, bytes);
    for (const Pair& pair : pairs) gradients[pair.index] += pair.value;
  });
}

}  // namespace stepslack::train

#include "topk_compressor.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <string>

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

// The magnitude of the `count`-th largest value.
uint32_t Threshold(std::span<const float> values, size_t count) {
  std::vector<size_t> bins(size_t{1} << (31 - kBinShift));
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
  return *nth;
}

}  // namespace

std::vector<uint32_t> LargestMagnitudes(std::span<const float> values, size_t count) {
  count = std::min(count, values.size());
  std::vector<uint32_t> chosen;
  if (count == 0) return chosen;
  const uint32_t threshold = Threshold(values, count);
  const auto larger =
      static_cast<size_t>(std::count_if(values.begin(), values.end(), [&](float value) {
        return MagnitudeBits(value) > threshold;
      }));
  size_t equal_left = count - larger;
  chosen.reserve(count);
  for (size_t i = 0; i < values.size(); ++i) {
    const uint32_t bits = MagnitudeBits(values[i]);
    if (bits < threshold || (bits == threshold && equal_left == 0)) continue;
    if (bits == threshold) --equal_left;
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
  const std::span<float> tail = gradients.subspan(count);
  for (size_t i = 0; i < count; ++i) residual_[i] += gradients[i];
  const std::vector<uint32_t> chosen = LargestMagnitudes(residual_, count_);
  std::vector<Pair> pairs;
  pairs.reserve(chosen.size());
  for (uint32_t index : chosen) {
    pairs.push_back({index, residual_[index]});
    residual_[index] = 0;
  }
  const size_t pair_bytes = pairs.size() * sizeof(Pair);
  std::string mine(pair_bytes + tail.size_bytes(), '\0');
  std::memcpy(mine.data(), pairs.data(), pair_bytes);
  std::memcpy(mine.data() + pair_bytes, tail.data(), tail.size_bytes());
  bytes_ = static_cast<int64_t>(mine.size());
  SS_TRY(const std::vector<std::string> all, communicator.AllGather(mine));
  std::fill(gradients.begin(), gradients.end(), 0.0F);
  std::vector<float> scalars(tail.size());
  for (const std::string& theirs : all) {
    std::memcpy(pairs.data(), theirs.data(), pair_bytes);
    for (const Pair& pair : pairs) gradients[pair.index] += pair.value;
    std::memcpy(scalars.data(), theirs.data() + pair_bytes, tail.size_bytes());
    for (size_t i = 0; i < tail.size(); ++i) tail[i] += scalars[i];
  }
  return {};
}

}  // namespace stepslack::train

#include "bfloat16_compressor.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace stepslack::train {
namespace {

__attribute__((target_clones("avx512f", "avx2", "default"))) void RoundWithFeedback(
    const float* __restrict gradients, float* __restrict residual,
    uint16_t* __restrict words, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const float wanted = gradients[i] + residual[i];
    const auto bits = std::bit_cast<uint32_t>(wanted);
    const uint32_t rounded = bits + 0x7FFFU + ((bits >> 16) & 1U);
    const bool is_nan = (bits & 0x7FFFFFFFU) > 0x7F800000U;
    const uint32_t kept = is_nan ? (bits | 0x00400000U) : rounded;
    words[i] = static_cast<uint16_t>(kept >> 16);
    residual[i] = wanted - std::bit_cast<float>(kept & 0xFFFF0000U);
  }
}

__attribute__((target_clones("avx512f", "avx2", "default"))) void AddWords(
    const uint16_t* __restrict words, float* __restrict sums, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    sums[i] += std::bit_cast<float>(static_cast<uint32_t>(words[i]) << 16);
  }
}

}  // namespace

uint16_t ToBfloat16(float value) {
  float residual = 0;
  uint16_t word = 0;
  RoundWithFeedback(&value, &residual, &word, 1);
  return word;
}

float FromBfloat16(uint16_t word) {
  return std::bit_cast<float>(static_cast<uint32_t>(word) << 16);
}

base::Status Bfloat16Compressor::Exchange(std::span<float> gradients,
                                          comm::Communicator& communicator) {
  const size_t count = residual_.size();
  words_.resize(count);
  RoundWithFeedback(gradients.data(), residual_.data(), words_.data(), count);
  const size_t bytes = count * sizeof(uint16_t);
  payload_.assign(reinterpret_cast<const char*>(words_.data()), bytes);
  std::fill_n(gradients.begin(), count, 0.0F);
  return Gather(gradients.subspan(count), communicator, [&](const char* theirs) {
    std::memcpy(words_.data(), theirs, bytes);
    AddWords(words_.data(), gradients.data(), count);
  });
}

}  // namespace stepslack::train

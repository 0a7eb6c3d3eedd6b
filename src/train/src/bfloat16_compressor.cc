#include "bfloat16_compressor.h"

#include <bit>
#include <cstring>
#include <string>

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
  const std::span<float> tail = gradients.subspan(count);
  std::vector<uint16_t> words(count);
  RoundWithFeedback(gradients.data(), residual_.data(), words.data(), count);
  std::string mine(count * sizeof(uint16_t) + tail.size_bytes(), '\0');
  std::memcpy(mine.data(), words.data(), count * sizeof(uint16_t));
  std::memcpy(mine.data() + count * sizeof(uint16_t), tail.data(), tail.size_bytes());
  bytes_ = static_cast<int64_t>(mine.size());
  SS_TRY(const std::vector<std::string> all, communicator.AllGather(mine));
  std::fill(gradients.begin(), gradients.end(), 0.0F);
  std::vector<float> scalars(tail.size());
  for (const std::string& theirs : all) {
    std::memcpy(words.data(), theirs.data(), count * sizeof(uint16_t));
    AddWords(words.data(), gradients.data(), count);
    std::memcpy(scalars.data(), theirs.data() + count * sizeof(uint16_t),
                tail.size_bytes());
    for (size_t i = 0; i < tail.size(); ++i) tail[i] += scalars[i];
  }
  return {};
}

}  // namespace stepslack::train

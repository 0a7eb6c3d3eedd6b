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

Bfloat16Compressor::Place Bfloat16Compressor::PlaceOf(std::span<float> gradients,
                                                      std::span<float> range) const {
  const auto begin = static_cast<size_t>(range.data() - gradients.data());
  const size_t end = begin + range.size();
  const size_t values = std::min(end, residual_.size()) - begin;
  return {begin, values, range.size() - values};
}

comm::Work Bfloat16Compressor::Launch(std::span<float> gradients,
                                      std::span<float> range,
                                      comm::Communicator& communicator) {
  ranks_ = static_cast<size_t>(communicator.world_size());
  const size_t all = 2 * gradients.size() - residual_.size();
  outgoing_.resize(all);
  gathered_words_.resize(all * ranks_);
  const Place place = PlaceOf(gradients, range);
  uint16_t* words = outgoing_.data() + place.first;
  RoundWithFeedback(range.data(), residual_.data() + place.first, words, place.values);
  std::memcpy(words + place.values, range.data() + place.values,
              place.scalars * sizeof(float));
  bytes_ = static_cast<int64_t>(place.words() * sizeof(uint16_t));
  return communicator.AllGatherAsync(
      comm::ConstBuffer{words, place.words(), comm::DType::kBFloat16},
      comm::Buffer{gathered_words_.data() + place.first * ranks_,
                   place.words() * ranks_, comm::DType::kBFloat16});
}

void Bfloat16Compressor::Collect(std::span<float> gradients, std::span<float> range) {
  const Place place = PlaceOf(gradients, range);
  std::fill(range.begin(), range.end(), 0.0F);
  std::vector<float> scalars(place.scalars);
  for (size_t rank = 0; rank < ranks_; ++rank) {
    const uint16_t* words =
        gathered_words_.data() + place.first * ranks_ + rank * place.words();
    AddWords(words, range.data(), place.values);
    std::memcpy(scalars.data(), words + place.values, place.scalars * sizeof(float));
    for (size_t i = 0; i < place.scalars; ++i) range[place.values + i] += scalars[i];
  }
}

base::Status Bfloat16Compressor::Exchange(std::span<float> gradients,
                                          comm::Communicator& communicator) {
  SS_RETURN_IF_ERROR(Launch(gradients, gradients, communicator).Wait());
  Collect(gradients, gradients);
  return {};
}

}  // namespace stepslack::train

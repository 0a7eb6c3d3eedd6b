#include "compression.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "bfloat16_compressor.h"
#include "powersgd_compressor.h"
#include "topk_compressor.h"

namespace stepslack::train {

comm::Work Compressor::Launch(std::span<float> /*gradients*/,
                              std::span<float> /*range*/,
                              comm::Communicator& communicator) {
  SS_CHECK(by_range());
  return communicator.AllReduceSumAsync(std::span<float>());
}

void Compressor::Collect(std::span<float> /*gradients*/, std::span<float> /*range*/) {}

base::Status Compressor::Gather(std::span<float> tail, comm::Communicator& communicator,
                                const std::function<void(const char*)>& add) {
  const size_t length = payload_.size();
  const auto* scalars = reinterpret_cast<const char*>(tail.data());
  payload_.insert(payload_.end(), scalars, scalars + tail.size_bytes());
  const size_t block = payload_.size();
  const auto ranks = static_cast<size_t>(communicator.world_size());
  gathered_.resize(block * ranks);
  bytes_ = static_cast<int64_t>(block);
  SS_RETURN_IF_ERROR(communicator.AllGather(
      comm::ConstBuffer{payload_.data(), block, comm::DType::kByte},
      comm::Buffer{gathered_.data(), gathered_.size(), comm::DType::kByte}));
  payload_.resize(length);
  std::fill(tail.begin(), tail.end(), 0.0F);
  std::vector<float> theirs(tail.size());
  for (size_t rank = 0; rank < ranks; ++rank) {
    const char* payload = gathered_.data() + rank * block;
    add(payload);
    std::memcpy(theirs.data(), payload + length, tail.size_bytes());
    for (size_t i = 0; i < tail.size(); ++i) tail[i] += theirs[i];
  }
  return {};
}

std::unique_ptr<Compressor> MakeCompressor(const CompressionOptions& options,
                                           std::vector<model::ParameterInfo> parameters,
                                           size_t buffer_floats) {
  switch (options.method) {
    case CompressionMethod::kBfloat16:
      return std::make_unique<Bfloat16Compressor>(buffer_floats);
    case CompressionMethod::kTopK:
      return std::make_unique<TopKCompressor>(options.topk_share, std::move(parameters),
                                              buffer_floats);
    case CompressionMethod::kPowerSgd:
      return std::make_unique<PowerSgdCompressor>(options, std::move(parameters),
                                                  buffer_floats);
    case CompressionMethod::kNone:
      break;
  }
  return nullptr;
}

}  // namespace stepslack::train

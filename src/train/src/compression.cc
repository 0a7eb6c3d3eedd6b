#include "compression.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "bfloat16_compressor.h"
#include "powersgd_compressor.h"
#include "topk_compressor.h"

namespace stepslack::train {

base::Status Compressor::Gather(std::span<float> tail, comm::Communicator& communicator,
                                const std::function<void(const char*)>& add) {
  const size_t length = payload_.size();
  payload_.append(reinterpret_cast<const char*>(tail.data()), tail.size_bytes());
  bytes_ = static_cast<int64_t>(payload_.size());
  SS_TRY(const std::vector<std::string> all, communicator.AllGather(payload_));
  payload_.resize(length);
  std::fill(tail.begin(), tail.end(), 0.0F);
  std::vector<float> scalars(tail.size());
  for (const std::string& theirs : all) {
    add(theirs.data());
    std::memcpy(scalars.data(), theirs.data() + length, tail.size_bytes());
    for (size_t i = 0; i < tail.size(); ++i) tail[i] += scalars[i];
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

#include "compression.h"

#include <utility>

#include "bfloat16_compressor.h"
#include "powersgd_compressor.h"
#include "topk_compressor.h"

namespace stepslack::train {

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

// CRC-32C (Castagnoli, RFC 3720 appendix B.4) and the mask that TFRecord puts over it.
#pragma once

#include <cstdint>
#include <string_view>

namespace stepslack::logs {

uint32_t Crc32c(std::string_view bytes);
// ((crc >> 15) | (crc << 17)) + 0xa282ead8, tensorflow/core/lib/hash/crc32c.h.
uint32_t MaskedCrc32c(std::string_view bytes);

}  // namespace stepslack::logs

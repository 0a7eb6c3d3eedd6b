// TensorBoard records of one scalar, for tests.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

#include "crc32c.h"

namespace stepslack::logs {

inline std::string LittleBytes(uint64_t value, int size) {
  std::string out;
  for (int i = 0; i < size; ++i) out += static_cast<char>((value >> (8 * i)) & 0xff);
  return out;
}

inline std::string Record(std::string_view data) {
  const std::string length = LittleBytes(data.size(), 8);
  return length + LittleBytes(MaskedCrc32c(length), 4) + std::string(data) +
         LittleBytes(MaskedCrc32c(data), 4);
}

// All lengths below 128, so that each is one byte.
inline std::string EventRecord(double seconds, int step, std::string_view tag,
                               float scalar) {
  std::string value = "\x0a" + LittleBytes(tag.size(), 1) + std::string(tag) + "\x15" +
                      LittleBytes(std::bit_cast<uint32_t>(scalar), 4);
  std::string summary = "\x0a" + LittleBytes(value.size(), 1) + value;
  return Record("\x09" + LittleBytes(std::bit_cast<uint64_t>(seconds), 8) + "\x10" +
                LittleBytes(static_cast<uint64_t>(step), 1) + "\x2a" +
                LittleBytes(summary.size(), 1) + summary);
}

}  // namespace stepslack::logs

// Writes the messages of xplane.proto for tests, from the field numbers of the schema.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace stepslack::trace::xplane {

inline std::string Varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) {
    bytes.push_back(static_cast<char>((value & 0x7f) | 0x80));
  }
  bytes.push_back(static_cast<char>(value));
  return bytes;
}
inline std::string Int(uint64_t number, int64_t value) {
  return Varint(number << 3) + Varint(static_cast<uint64_t>(value));
}
inline std::string Bytes(uint64_t number, std::string_view bytes) {
  return Varint(number << 3 | 2) + Varint(bytes.size()) + std::string(bytes);
}

inline std::string IntStat(int64_t id, int64_t value) {
  return Bytes(4, Int(1, id) + Int(4, value));
}
inline std::string TextStat(int64_t id, std::string_view text) {
  return Bytes(4, Int(1, id) + Bytes(5, text));
}
inline std::string RefStat(int64_t id, int64_t ref) {
  return Bytes(4, Int(1, id) + Int(7, ref));
}
inline std::string Event(int64_t id, int64_t offset_ps, int64_t duration_ps,
                         std::string_view stats = "") {
  return Bytes(
      4, Int(1, id) + Int(2, offset_ps) + Int(3, duration_ps) + std::string(stats));
}
inline std::string Line(int64_t id, std::string_view name, int64_t timestamp_ns,
                        std::string_view events) {
  return Bytes(
      3, Int(1, id) + Bytes(2, name) + Int(3, timestamp_ns) + std::string(events));
}
inline std::string EventName(int64_t id, std::string_view name,
                             std::string_view display_name = "") {
  std::string metadata = Int(1, id) + Bytes(2, name);
  if (!display_name.empty()) metadata += Bytes(4, display_name);
  return Bytes(4, Int(1, id) + Bytes(2, metadata));
}
inline std::string StatName(int64_t id, std::string_view name) {
  return Bytes(5, Int(1, id) + Bytes(2, Int(1, id) + Bytes(2, name)));
}
inline std::string Plane(std::string_view name, std::string_view content) {
  return Bytes(1, Bytes(2, name) + std::string(content));
}

}  // namespace stepslack::trace::xplane

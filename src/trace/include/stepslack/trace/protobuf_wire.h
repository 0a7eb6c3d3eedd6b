// Reads the wire form of Protocol Buffers (protobuf.dev/programming-guides/encoding)
// without generated code: a flat walk over the fields of one message. Lengths are
// checked against the bytes that are there, nothing is allocated, nothing recurses: the
// caller opens a nested message by a reader of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace stepslack::trace {

struct WireField {
  enum class Type { kVarint, kFixed64, kBytes, kFixed32 };
  uint32_t number = 0;
  Type type = Type::kVarint;
  uint64_t value = 0;      // varint or fixed
  std::string_view bytes;  // of kBytes; shortened when `clipped`
  size_t offset = 0;       // of the key, in the whole input
  size_t content = 0;      // of the bytes, in the whole input
  bool clipped = false;    // the length says more than the message holds

  int64_t AsInt64() const { return static_cast<int64_t>(value); }
  double AsDouble() const {
    double number_value = 0;
    std::memcpy(&number_value, &value, sizeof number_value);
    return number_value;
  }
};

class WireReader {
 public:
  // `offset` is where `message` begins in the whole input, for positions.
  explicit WireReader(std::string_view message, size_t offset = 0)
      : message_(message), offset_(offset) {}
  explicit WireReader(const WireField& field)
      : WireReader(field.bytes, field.content) {}

  // False at the end and at a field that can not be read (then malformed()). A field
  // with a length beyond the end is given once, clipped, and is the last.
  bool Next(WireField& field) {
    if (at_ >= message_.size() || malformed_) return false;
    field = WireField{};
    field.offset = offset_ + at_;
    uint64_t key = 0;
    if (!ReadVarint(key) || key >> 3 == 0 || key >> 3 > kLargestField) return Stop();
    field.number = static_cast<uint32_t>(key >> 3);
    switch (key & 7) {
      case 0:
        field.type = WireField::Type::kVarint;
        return ReadVarint(field.value) || Stop();
      case 1:
        field.type = WireField::Type::kFixed64;
        return ReadFixed(8, field.value) || Stop();
      case 2:
        return ReadBytes(field) || Stop();
      case 5:
        field.type = WireField::Type::kFixed32;
        return ReadFixed(4, field.value) || Stop();
      default:  // groups are not used any more
        return Stop();
    }
  }

  bool malformed() const { return malformed_; }
  size_t position() const { return offset_ + at_; }  // in the whole input

 private:
  static constexpr uint64_t kLargestField = (uint64_t{1} << 29) - 1;

  bool Stop() {
    malformed_ = true;
    return false;
  }

  bool ReadVarint(uint64_t& value) {
    value = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
      if (at_ >= message_.size()) return false;
      const auto byte = static_cast<unsigned char>(message_[at_++]);
      if (shift == 63 && byte > 1) return false;  // more than 64 bits
      value |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }

  bool ReadFixed(size_t size, uint64_t& value) {
    if (message_.size() - at_ < size) return false;
    value = 0;
    for (size_t i = 0; i < size; ++i) {
      value |= uint64_t{static_cast<unsigned char>(message_[at_ + i])} << (8 * i);
    }
    at_ += size;
    return true;
  }

  bool ReadBytes(WireField& field) {
    uint64_t length = 0;
    if (!ReadVarint(length)) return false;
    field.type = WireField::Type::kBytes;
    field.content = offset_ + at_;
    const size_t left = message_.size() - at_;
    field.clipped = length > left;
    const size_t taken = field.clipped ? left : static_cast<size_t>(length);
    field.bytes = message_.substr(at_, taken);
    at_ += taken;
    return true;
  }

  std::string_view message_;
  size_t offset_ = 0;
  size_t at_ = 0;
  bool malformed_ = false;
};

}  // namespace stepslack::trace

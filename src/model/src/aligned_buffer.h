// Floats on a cache line boundary, zero at first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace stepslack::model {

class AlignedBuffer {
 public:
  explicit AlignedBuffer(int64_t floats)
      : storage_(static_cast<size_t>(floats) / kLine + 1), floats_(floats) {}
  std::span<float> span() {
    return {storage_.front().value, static_cast<size_t>(floats_)};
  }

 private:
  static constexpr size_t kLine = 16;
  struct alignas(64) Line {
    float value[kLine] = {};
  };
  std::vector<Line> storage_;
  int64_t floats_;
};

}  // namespace stepslack::model

#include "hotspots.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace stepslack::quality {
namespace {

// One dimension of the dilation: out[i] is set when any in[i-radius .. i+radius] is.
void DilateLine(const uint8_t* in, uint8_t* out, int64_t length, int64_t stride,
                int64_t radius) {
  int64_t last_set = -radius - 1;  // position of the last set pixel up to i + radius
  int64_t next = 0;
  for (int64_t i = 0; i < length; ++i) {
    for (; next < length && next <= i + radius; ++next) {
      if (in[next * stride] != 0) last_set = next;
    }
    out[i * stride] = last_set >= i - radius ? 1 : 0;
  }
}

}  // namespace

std::vector<size_t> DescendingOrder(std::span<const float> values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return values[a] > values[b]; });
  return order;
}

std::vector<uint8_t> LargestMask(std::span<const float> values, int64_t count) {
  std::vector<uint8_t> mask(values.size(), 0);
  if (count <= 0) return mask;
  const auto k = std::min(static_cast<size_t>(count), values.size());
  std::vector<float> sorted(values.begin(), values.end());
  std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(k - 1),
                   sorted.end(), std::greater<>());
  const float threshold = sorted[k - 1];
  size_t above = 0;
  for (float v : values) above += v > threshold ? 1 : 0;
  size_t equal_allowed = k - above;
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] > threshold) {
      mask[i] = 1;
    } else if (values[i] == threshold && equal_allowed > 0) {
      mask[i] = 1;
      --equal_allowed;
    }
  }
  return mask;
}

std::vector<uint8_t> Dilate(std::span<const uint8_t> mask, int64_t height,
                            int64_t width, int64_t radius) {
  std::vector<uint8_t> rows(mask.size());
  std::vector<uint8_t> grown(mask.size());
  for (int64_t r = 0; r < height; ++r) {
    DilateLine(mask.data() + r * width, rows.data() + r * width, width, 1, radius);
  }
  for (int64_t c = 0; c < width; ++c) {
    DilateLine(rows.data() + c, grown.data() + c, height, width, radius);
  }
  return grown;
}

int64_t CountBoth(std::span<const uint8_t> a, std::span<const uint8_t> b) {
  int64_t count = 0;
  for (size_t i = 0; i < a.size(); ++i) count += (a[i] & b[i]) != 0 ? 1 : 0;
  return count;
}

std::vector<float> BlockMaxima(std::span<const float> values, int64_t height,
                               int64_t width, int64_t rows, int64_t columns) {
  std::vector<float> maxima(static_cast<size_t>(rows * columns),
                            -std::numeric_limits<float>::infinity());
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      float& maximum = maxima[static_cast<size_t>(i * columns + j)];
      for (int64_t r = i * height / rows; r < (i + 1) * height / rows; ++r) {
        for (int64_t c = j * width / columns; c < (j + 1) * width / columns; ++c) {
          maximum = std::max(maximum, values[static_cast<size_t>(r * width + c)]);
        }
      }
    }
  }
  return maxima;
}

}  // namespace stepslack::quality

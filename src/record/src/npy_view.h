// The parts of a .npy file in memory, without copying its values.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stepslack/base/result.h"

namespace stepslack::record {

struct NpyView {
  std::string dtype;  // one of those that are read
  size_t element_size = 0;
  std::vector<int64_t> shape;
  int64_t count = 0;      // product of the shape
  std::string_view data;  // count * element_size bytes, of any alignment
};

// REC-0001, REC-0002. The view refers to `bytes`.
base::Result<NpyView> ViewNpy(std::string_view bytes, std::string_view name);

// out.size() values from `bytes` on.
void ConvertToFloats(std::string_view dtype, const char* bytes, std::span<float> out);
void ConvertToDoubles(std::string_view dtype, const char* bytes, std::span<double> out);
// Integer dtypes only.
void ConvertToIntegers(std::string_view dtype, const char* bytes,
                       std::span<int64_t> out);

}  // namespace stepslack::record

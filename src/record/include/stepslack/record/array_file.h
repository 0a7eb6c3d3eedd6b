// NumPy array files: .npy (format 1.0 and 2.0) and uncompressed or deflated .npz.
// Little-endian C order only. Errors: REC-0001 not an array file or damaged, REC-0002
// dtype, order or shape that is not supported.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "stepslack/base/result.h"

namespace stepslack::record {

// Values are held as float32 whatever the stored real dtype (f4, f8, i4, i8, u1, b1);
// `dtype` keeps the stored one. An int64 beyond 2^24 loses digits: use ids as text.
struct FloatArray {
  std::vector<int64_t> shape;
  std::vector<float> values;
  std::string dtype = "<f4";

  int64_t size() const { return static_cast<int64_t>(values.size()); }
};

base::Result<FloatArray> ReadNpy(const std::string& path);
base::Result<FloatArray> ParseNpy(std::string_view bytes, std::string_view name);
base::Result<std::map<std::string, FloatArray>> ReadNpz(const std::string& path);
base::Result<std::map<std::string, FloatArray>> ParseNpz(std::string_view bytes,
                                                         std::string_view name);

// Bytes of a version 1.0 .npy with dtype <f4.
std::string EncodeNpy(const std::vector<int64_t>& shape, const float* values);
base::Status WriteNpy(const std::string& path, const std::vector<int64_t>& shape,
                      const float* values);
// Stored (not deflated) zip entries in key order, time stamps zero: same input, same
// bytes.
base::Status WriteNpz(const std::string& path,
                      const std::map<std::string, FloatArray>& arrays);

}  // namespace stepslack::record

// Array files that are larger than memory: .npy and stored .npz are mapped, so that
// only the pages in use take memory and all ranks of a host share them. Deflated
// entries of an .npz are held in memory. A mapped file must not be cut while it is in
// use: the kernel would end the process.
//
// Errors: REC-0001, REC-0002 and REC-0005 of array_file.h; REC-0007 the file can not be
// opened.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stepslack/base/result.h"

namespace stepslack::record {

struct NpyView;

// Read-only and safe to use from several threads; copies share the file.
class MappedArray {
 public:
  // `owner` keeps the bytes of `view` alive.
  MappedArray(const NpyView& view, std::shared_ptr<const void> owner);

  const std::vector<int64_t>& shape() const { return shape_; }
  const std::string& dtype() const { return dtype_; }
  bool is_integer() const;
  int64_t size() const { return count_; }

  // Elements first .. first + count - 1 as float32: a view of the file when it holds
  // aligned float32, else converted into `scratch`, which must live as long.
  std::span<const float> Floats(int64_t first, int64_t count,
                                std::vector<float>& scratch) const;
  // Elements first .. first + out.size() - 1; float64 is not rounded.
  void Doubles(int64_t first, std::span<double> out) const;
  // The same elements as exact integers; only when is_integer().
  void Integers(int64_t first, std::span<int64_t> out) const;

 private:
  std::shared_ptr<const void> owner_;  // other owners: arrays of the same archive
  std::string dtype_;
  size_t element_size_;
  std::vector<int64_t> shape_;
  int64_t count_;
  const char* data_;
};

// The files of one array or set in shards: `path` itself, or, when it is a folder, its
// files that end in `extension` (".npy") in the order of their names; hidden files are
// none. REC-0300: the folder holds no such file.
base::Result<std::vector<std::string>> ListShards(const std::string& path,
                                                  std::string_view extension);

base::Result<MappedArray> MapNpy(const std::string& path);
base::Result<std::map<std::string, MappedArray>> MapNpz(const std::string& path);

}  // namespace stepslack::record

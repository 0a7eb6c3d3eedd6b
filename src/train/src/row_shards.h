// Arrays of one shape in several .npy files, joined along their first axis and mapped:
// data larger than memory are read page by page.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "stepslack/base/result.h"
#include "stepslack/record/mapped_array.h"

namespace stepslack::train {

class RowShards {
 public:
  // A file, or a folder whose .npy files are taken in the order of their names.
  // Errors: TRAIN-0051 shards of different shape, and those of record::ListShards and
  // MapNpy.
  static base::Result<RowShards> Open(const std::string& path);

  const std::vector<int64_t>& shape() const { return shape_; }
  int64_t rows() const { return first_row_.back(); }
  int64_t row_size() const { return row_size_; }

  // A view of the file, or of `scratch`, which must live as long.
  std::span<const float> Row(int64_t row, std::vector<float>& scratch) const;

 private:
  RowShards() = default;
  std::vector<record::MappedArray> shards_;
  std::vector<int64_t> first_row_ = {0};  // of each shard; then the number of rows
  std::vector<int64_t> shape_;
  int64_t row_size_ = 1;
};

}  // namespace stepslack::train

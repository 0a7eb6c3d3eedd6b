#include "row_shards.h"

#include <algorithm>
#include <utility>

#include "sample_source.h"

namespace stepslack::train {

base::Result<RowShards> RowShards::Open(const std::string& path) {
  SS_TRY(const std::vector<std::string> files, record::ListShards(path, ".npy"));
  RowShards rows;
  for (const std::string& file : files) {
    SS_TRY(record::MappedArray shard, record::MapNpy(file));
    const std::vector<int64_t>& shape = shard.shape();
    if (rows.shards_.empty()) rows.shape_ = shape;
    const bool same =
        !shape.empty() && shape.size() == rows.shape_.size() &&
        std::equal(shape.begin() + 1, shape.end(), rows.shape_.begin() + 1);
    if (!same) {
      return base::Fail("TRAIN-0051", base::ExitCode::kInput,
                        "shape " + ShapeText(shape) + " has no rows, or rows unlike " +
                            ShapeText(rows.shape_) + " of the first shard",
                        file, "all shards are [rows, ...] with the same rest");
    }
    rows.first_row_.push_back(rows.rows() + shape[0]);
    rows.shards_.push_back(std::move(shard));
  }
  rows.shape_[0] = rows.rows();
  for (size_t axis = 1; axis < rows.shape_.size(); ++axis) {
    rows.row_size_ *= rows.shape_[axis];
  }
  return rows;
}

std::span<const float> RowShards::Row(int64_t row, std::vector<float>& scratch) const {
  SS_CHECK(row >= 0 && row < rows());
  const auto after = std::upper_bound(first_row_.begin(), first_row_.end(), row);
  const auto shard = static_cast<size_t>(after - first_row_.begin()) - 1;
  return shards_[shard].Floats((row - first_row_[shard]) * row_size_, row_size_,
                               scratch);
}

}  // namespace stepslack::train

// Follows a metrics.jsonl file while a worker appends to it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <limits>
#include <string>
#include <utility>

namespace stepslack::study {

class MetricsTail {
 public:
  explicit MetricsTail(std::string path) : path_(std::move(path)) {}
  // Reads whole new lines; true when there were any.
  bool Read();
  int64_t samples() const { return samples_; }
  double relative_mae() const { return relative_mae_; }

 private:
  std::string path_;
  int64_t offset_ = 0;
  ino_t inode_ = 0;
  int64_t samples_ = 0;
  double relative_mae_ = std::numeric_limits<double>::quiet_NaN();
};

}  // namespace stepslack::study

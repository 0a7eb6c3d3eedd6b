// Standardisation of columns: zero mean and unit deviation over the rows that were
// added.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "stepslack/base/json.h"

namespace stepslack::train {

class ColumnScale {
 public:
  explicit ColumnScale(int columns)
      : mean_(static_cast<size_t>(columns)),
        squares_(mean_.size()),
        deviation_(mean_.size(), 1.0) {}

  // One row; updates mean and sum of squares as Welford 1962 does. Finish ends it: a
  // constant column keeps the deviation 1.
  void Add(std::span<const float> row);
  void Finish();

  int columns() const { return static_cast<int>(mean_.size()); }
  double mean(size_t column) const { return mean_[column]; }
  double deviation(size_t column) const { return deviation_[column]; }

  // Rows one after the other.
  void Encode(std::span<const float> rows, std::span<float> out) const;
  double Decode(size_t column, float value) const {
    return static_cast<double>(value) * deviation_[column] + mean_[column];
  }

  base::Json ToJson() const;

 private:
  double rows_ = 0;
  std::vector<double> mean_;
  std::vector<double> squares_;
  std::vector<double> deviation_;
};

}  // namespace stepslack::train

#include "column_scale.h"

#include <cmath>

namespace stepslack::train {
namespace {

// Below this share of the mean, a deviation is rounding.
constexpr double kConstant = 1e-9;

}  // namespace

void ColumnScale::Add(std::span<const float> row) {
  rows_ += 1;
  for (size_t i = 0; i < mean_.size(); ++i) {
    const double value = static_cast<double>(row[i]);
    const double step = value - mean_[i];
    mean_[i] += step / rows_;
    squares_[i] += step * (value - mean_[i]);
  }
}

void ColumnScale::Finish() {
  if (rows_ <= 0) return;
  for (size_t i = 0; i < mean_.size(); ++i) {
    const double deviation = std::sqrt(squares_[i] / rows_);
    if (deviation > kConstant * std::fabs(mean_[i])) deviation_[i] = deviation;
  }
}

void ColumnScale::Encode(std::span<const float> rows, std::span<float> out) const {
  const size_t columns = mean_.size();
  for (size_t at = 0; at < rows.size(); at += columns) {
    for (size_t i = 0; i < columns; ++i) {
      const double value = static_cast<double>(rows[at + i]);
      out[at + i] = static_cast<float>((value - mean_[i]) / deviation_[i]);
    }
  }
}

base::Json ColumnScale::ToJson() const {
  base::Json json;
  json.Set("mean", base::Json(base::Json::Array(mean_.begin(), mean_.end())));
  json.Set("deviation",
           base::Json(base::Json::Array(deviation_.begin(), deviation_.end())));
  return json;
}

}  // namespace stepslack::train

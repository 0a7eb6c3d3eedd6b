#include "powersgd_compressor.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "norms.h"
#include "stepslack/base/random.h"

namespace stepslack::train {
namespace {

// A column that shrinks to this share of its length when the earlier ones are taken out
// is rounding noise.
constexpr double kDependent = 1e-6;

double ColumnDot(std::span<const float> matrix, size_t rank, size_t a, size_t b) {
  double sum = 0;
  for (size_t row = 0; row < matrix.size(); row += rank) {
    sum += static_cast<double>(matrix[row + a]) * static_cast<double>(matrix[row + b]);
  }
  return sum;
}

__attribute__((target_clones("avx512f", "avx2", "default"))) float Dot(const float* a,
                                                                       const float* b,
                                                                       size_t count) {
  constexpr size_t kLanes = 32;  // a fixed order that the compiler can vectorise
  float sums[kLanes] = {};
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      sums[lane] += a[i + lane] * b[i + lane];
    }
  }
  for (size_t lane = 0; i < count; ++i, ++lane) sums[lane] += a[i] * b[i];
  float total = 0;
  for (float sum : sums) total += sum;
  return total;
}

__attribute__((target_clones("avx512f", "avx2", "default"))) void AddScaled(
    float* __restrict to, const float* __restrict from, float scale, size_t count) {
  for (size_t i = 0; i < count; ++i) to[i] += scale * from[i];
}

}  // namespace

void Orthonormalise(std::span<float> matrix, size_t rank) {
  for (size_t column = 0; column < rank; ++column) {
    const double before = std::sqrt(ColumnDot(matrix, rank, column, column));
    for (size_t earlier = 0; earlier < column; ++earlier) {
      const auto share = static_cast<float>(ColumnDot(matrix, rank, earlier, column));
      for (size_t row = 0; row < matrix.size(); row += rank) {
        matrix[row + column] -= share * matrix[row + earlier];
      }
    }
    const double length = std::sqrt(ColumnDot(matrix, rank, column, column));
    // Written so that what is no number stays.
    const bool dependent = length <= kDependent * before;
    const auto scale = static_cast<float>(dependent ? 0.0 : 1.0 / length);
    for (size_t row = 0; row < matrix.size(); row += rank) {
      matrix[row + column] *= scale;
    }
  }
}

PowerSgdCompressor::PowerSgdCompressor(const CompressionOptions& options,
                                       std::vector<model::ParameterInfo> parameters,
                                       size_t buffer_floats)
    : Compressor(buffer_floats),
      rank_(static_cast<size_t>(options.powersgd_rank)),
      basis_(buffer_floats) {
  size_t left = 0, right = 0, whole = 0;
  for (const model::ParameterInfo& info : parameters) {
    const auto offset = static_cast<size_t>(info.offset);
    const auto count = static_cast<size_t>(info.count);
    const auto rows = static_cast<size_t>(info.shape.empty() ? 1 : info.shape[0]);
    const size_t columns = rows == 0 ? 0 : count / rows;
    if (rank_ * (rows + columns) >= count) {
      whole_.push_back({offset, count});
      whole += count;
      continue;
    }
    matrices_.push_back({offset, rows, columns});
    left += rows * rank_;
    right += columns * rank_;
    base::Random random(base::DeriveSeed(options.seed, "powersgd " + info.name));
    for (size_t i = 0; i < columns * rank_; ++i) {
      basis_[offset + i] = static_cast<float>(random.Normal());
    }
  }
  left_.resize(left + whole);
  right_.resize(right);
}

// left = (gradient + residual) basis; the sum stays in residual_.
void PowerSgdCompressor::FindLeft(std::span<float> gradients) {
  AddScaled(residual_.data(), gradients.data(), 1.0F, residual_.size());
  float* left = left_.data();
  for (const Matrix& m : matrices_) {
    const float* basis = basis_.data() + m.offset;
    for (size_t row = 0; row < m.rows; ++row) {
      const float* values = residual_.data() + m.offset + row * m.columns;
      for (size_t r = 0; r < rank_; ++r) {
        *left++ = Dot(values, basis + r * m.columns, m.columns);
      }
    }
  }
  for (const Range& range : whole_) {
    left = std::copy_n(residual_.data() + range.offset, range.count, left);
  }
}

// right = transposed (gradient + residual) left, a column a row.
void PowerSgdCompressor::FindRight() {
  std::fill(right_.begin(), right_.end(), 0.0F);
  const float* left = left_.data();
  float* right = right_.data();
  for (const Matrix& m : matrices_) {
    for (size_t row = 0; row < m.rows; ++row) {
      const float* values = residual_.data() + m.offset + row * m.columns;
      for (size_t r = 0; r < rank_; ++r) {
        AddScaled(right + r * m.columns, values, *left++, m.columns);
      }
    }
    right += m.columns * rank_;
  }
}

// gradients = left times the transposed sum of right factors; what the own factor sent
// leaves the residual.
void PowerSgdCompressor::Reconstruct(std::span<float> gradients,
                                     std::span<const float> own_right) {
  std::fill_n(gradients.begin(), residual_.size(), 0.0F);
  const float* left = left_.data();
  const float* right = right_.data();
  const float* own = own_right.data();
  for (const Matrix& m : matrices_) {
    for (size_t row = 0; row < m.rows; ++row) {
      float* sum = gradients.data() + m.offset + row * m.columns;
      float* rest = residual_.data() + m.offset + row * m.columns;
      for (size_t r = 0; r < rank_; ++r, ++left) {
        AddScaled(sum, right + r * m.columns, *left, m.columns);
        AddScaled(rest, own + r * m.columns, -*left, m.columns);
      }
    }
    KeepBasis(m, right);
    right += m.columns * rank_;
    own += m.columns * rank_;
  }
  for (const Range& range : whole_) {
    std::copy_n(left, range.count, gradients.data() + range.offset);
    std::fill_n(residual_.data() + range.offset, range.count, 0.0F);
    left += range.count;
  }
}

// The next step starts from these right factors; from the old one where a factor
// vanished (a zero gradient), as it could never grow again.
void PowerSgdCompressor::KeepBasis(const Matrix& m, const float* right) {
  for (size_t r = 0; r < rank_; ++r, right += m.columns) {
    if (SumOfSquares({right, m.columns}) == 0) continue;
    std::copy_n(right, m.columns, basis_.data() + m.offset + r * m.columns);
  }
}

base::Status PowerSgdCompressor::Exchange(std::span<float> gradients,
                                          comm::Communicator& communicator) {
  const std::span<float> tail = gradients.subspan(residual_.size());
  FindLeft(gradients);
  const size_t factors = left_.size();
  left_.insert(left_.end(), tail.begin(), tail.end());
  SS_RETURN_IF_ERROR(communicator.AllReduceSum(std::span(left_)));
  std::copy(left_.begin() + static_cast<std::ptrdiff_t>(factors), left_.end(),
            tail.begin());
  left_.resize(factors);
  float* left = left_.data();
  for (const Matrix& m : matrices_) {
    Orthonormalise({left, m.rows * rank_}, rank_);
    left += m.rows * rank_;
  }
  FindRight();
  const std::vector<float> own = right_;
  if (!right_.empty()) {
    SS_RETURN_IF_ERROR(communicator.AllReduceSum(std::span(right_)));
  }
  bytes_ =
      static_cast<int64_t>((factors + tail.size() + right_.size()) * sizeof(float));
  Reconstruct(gradients, own);
  return {};
}

}  // namespace stepslack::train

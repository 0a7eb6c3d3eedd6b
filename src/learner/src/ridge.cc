#include "ridge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace stepslack::learner {
namespace {

using base::ExitCode;

constexpr int64_t kMaxColumns = 2048;  // the normal matrix is 32 MB

struct Standard {
  double mean = 0;
  double deviation = 0;  // 0: constant, or without any value
};

std::vector<Standard> StandardsOf(const Matrix& matrix) {
  const auto columns = static_cast<size_t>(matrix.columns);
  const auto rows = static_cast<size_t>(matrix.rows);
  std::vector<Standard> out(columns);
  for (size_t j = 0; j < columns; ++j) {
    double count = 0;
    double mean = 0;
    double squares = 0;
    for (size_t i = 0; i < rows; ++i) {
      const double x = matrix.values[i * columns + j];
      if (!std::isfinite(x)) continue;
      ++count;
      const double before = x - mean;
      mean += before / count;
      squares += before * (x - mean);
    }
    const double deviation = count > 1 ? std::sqrt(squares / count) : 0.0;
    // Of constants only rounding is left; the scale is the column's own.
    out[j] = {mean, deviation > 1e-12 * std::abs(mean) ? deviation : 0.0};
  }
  return out;
}

void Standardise(const Matrix& matrix, int64_t row, const std::vector<Standard>& by,
                 std::vector<double>& z) {
  const float* x = matrix.values.data() + row * matrix.columns;
  for (size_t j = 0; j < by.size(); ++j) {
    const bool usable = by[j].deviation > 0 && std::isfinite(x[j]);
    z[j] = usable ? (x[j] - by[j].mean) / by[j].deviation : 0.0;
  }
}

// Solves A b = r in place, A symmetric positive definite, lower triangle given. A pivot
// that is not safely positive (dependent columns without penalty) gives coefficient 0.
void SolveByCholesky(std::vector<double>& a, std::vector<double>& r) {
  const size_t p = r.size();
  for (size_t j = 0; j < p; ++j) {
    const double scale = a[j * p + j];
    for (size_t i = j; i < p; ++i) {
      double sum = a[i * p + j];
      for (size_t k = 0; k < j; ++k) sum -= a[i * p + k] * a[j * p + k];
      if (i == j) {
        a[j * p + j] = sum > 1e-11 * scale ? std::sqrt(sum) : 0.0;
      } else {
        a[i * p + j] = a[j * p + j] > 0 ? sum / a[j * p + j] : 0.0;
      }
    }
  }
  for (size_t i = 0; i < p; ++i) {
    for (size_t k = 0; k < i; ++k) r[i] -= a[i * p + k] * r[k];
    r[i] = a[i * p + i] > 0 ? r[i] / a[i * p + i] : 0.0;
  }
  for (size_t i = p; i-- > 0;) {
    for (size_t k = i + 1; k < p; ++k) r[i] -= a[k * p + i] * r[k];
    r[i] = a[i * p + i] > 0 ? r[i] / a[i * p + i] : 0.0;
  }
}

}  // namespace

base::Result<std::vector<double>> Ridge(const Matrix& train,
                                        std::span<const double> labels,
                                        const Matrix& test,
                                        const LearnerOptions& options) {
  if (train.columns > kMaxColumns) {
    return base::Fail("LEARN-0006", ExitCode::kInput,
                      fmt::format("ridge regression takes at most {} columns, these "
                                  "are {}",
                                  kMaxColumns, train.columns),
                      "", "choose fewer features, or boosted trees");
  }
  const auto p = static_cast<size_t>(train.columns);
  const std::vector<Standard> standards = StandardsOf(train);
  double centre = 0;
  for (double y : labels) centre += y / static_cast<double>(labels.size());
  std::vector<double> normal(p * p, 0.0);
  std::vector<double> right(p, 0.0);
  std::vector<double> z(p);
  for (int64_t i = 0; i < train.rows; ++i) {
    Standardise(train, i, standards, z);
    const double y = labels[static_cast<size_t>(i)] - centre;
    for (size_t j = 0; j < p; ++j) {
      if (z[j] == 0) continue;
      right[j] += z[j] * y;
      for (size_t k = 0; k <= j; ++k) normal[j * p + k] += z[j] * z[k];
    }
  }
  // With missing values the standardised means are still 0, so the intercept is free.
  for (size_t j = 0; j < p; ++j) normal[j * p + j] += options.l2;
  SolveByCholesky(normal, right);
  std::vector<double> out;
  out.reserve(static_cast<size_t>(test.rows));
  for (int64_t i = 0; i < test.rows; ++i) {
    Standardise(test, i, standards, z);
    double value = centre;
    for (size_t j = 0; j < p; ++j) value += right[j] * z[j];
    out.push_back(options.task == Task::kBinary ? std::clamp(value, 0.0, 1.0) : value);
  }
  return out;
}

}  // namespace stepslack::learner

#include "stepslack/stats/least_squares.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace stepslack::stats {
namespace {

using base::ExitCode;
using base::Fail;

// In place A = L L'; false when a pivot is not safely positive. A is p x p, row-major,
// with ones (plus ridge) on the diagonal, so the pivot is a share of unexplained
// variance.
bool Cholesky(std::vector<double>& a, size_t p) {
  constexpr double kLeastPivot = 1e-11;
  for (size_t j = 0; j < p; ++j) {
    for (size_t i = j; i < p; ++i) {
      double sum = a[i * p + j];
      for (size_t k = 0; k < j; ++k) sum -= a[i * p + k] * a[j * p + k];
      if (i == j) {
        if (!(sum > kLeastPivot)) return false;
        a[j * p + j] = std::sqrt(sum);
      } else {
        a[i * p + j] = sum / a[j * p + j];
      }
    }
  }
  return true;
}

void SolveCholesky(const std::vector<double>& l, size_t p, std::vector<double>& b) {
  for (size_t i = 0; i < p; ++i) {
    for (size_t k = 0; k < i; ++k) b[i] -= l[i * p + k] * b[k];
    b[i] /= l[i * p + i];
  }
  for (size_t i = p; i-- > 0;) {
    for (size_t k = i + 1; k < p; ++k) b[i] -= l[k * p + i] * b[k];
    b[i] /= l[i * p + i];
  }
}

}  // namespace

double LinearModel::Predict(std::span<const double> features) const {
  double sum = intercept;
  for (size_t j = 0; j < coefficients.size(); ++j) sum += coefficients[j] * features[j];
  return sum;
}

CrossProducts::CrossProducts(int features) : features_(features) {
  SS_CHECK(features >= 1 && features <= kMaxFeatures);
  const auto width = static_cast<size_t>(features) + 1;
  mean_.assign(width, 0.0);
  product_.assign(width * width, 0.0);
  before_.assign(width, 0.0);
  after_.assign(width, 0.0);
}

void CrossProducts::Add(std::span<const double> features, double response) {
  const size_t width = mean_.size();
  SS_CHECK(features.size() + 1 == width);
  bool finite = std::isfinite(response);
  for (double value : features) finite = finite && std::isfinite(value);
  if (!finite) {
    ++skipped_;
    return;
  }
  ++rows_;
  const double share = 1.0 / static_cast<double>(rows_);
  for (size_t j = 0; j < width; ++j) {
    const double value = j + 1 < width ? features[j] : response;
    before_[j] = value - mean_[j];
    mean_[j] += before_[j] * share;
    after_[j] = value - mean_[j];
  }
  for (size_t i = 0; i < width; ++i) {
    double* row = &product_[i * width];
    const double left = before_[i];
    for (size_t j = i; j < width; ++j) row[j] += left * after_[j];
  }
}

void CrossProducts::Merge(const CrossProducts& other) {
  SS_CHECK(other.features_ == features_);
  skipped_ += other.skipped_;
  if (other.rows_ == 0) return;
  const double ours = static_cast<double>(rows_);
  const double theirs = static_cast<double>(other.rows_);
  const double weight = ours * theirs / (ours + theirs);
  const size_t width = mean_.size();
  for (size_t j = 0; j < width; ++j) before_[j] = other.mean_[j] - mean_[j];
  for (size_t i = 0; i < width; ++i) {
    for (size_t j = i; j < width; ++j) {
      product_[i * width + j] +=
          other.product_[i * width + j] + weight * before_[i] * before_[j];
    }
  }
  for (size_t j = 0; j < width; ++j) mean_[j] += before_[j] * theirs / (ours + theirs);
  rows_ += other.rows_;
}

base::Result<LinearModel> CrossProducts::Solve(double ridge) const {
  if (rows_ < 2) {
    return Fail("STAT-0001", ExitCode::kInput,
                fmt::format("a linear fit needs two rows, {} usable", rows_), "",
                "give more training samples, or look for values that are not finite");
  }
  if (!std::isfinite(ridge) || ridge < 0) {
    return Fail("STAT-0002", ExitCode::kUsage,
                "the ridge penalty is negative or not finite", "",
                "use 0 or a small positive number such as 1e-4");
  }
  const size_t width = mean_.size();
  const double rows = static_cast<double>(rows_);
  std::vector<size_t> varying;
  for (size_t j = 0; j + 1 < width; ++j) {
    const double floor = 1e-13 * std::fabs(mean_[j]);
    if (product_[j * width + j] > rows * floor * floor) varying.push_back(j);
  }
  const size_t p = varying.size();
  std::vector<double> scale(p);
  std::vector<double> slopes(p);
  std::vector<double> matrix(p * p);
  for (size_t a = 0; a < p; ++a) {
    scale[a] = std::sqrt(product_[varying[a] * width + varying[a]]);
    slopes[a] = product_[varying[a] * width + width - 1] / scale[a];
  }
  for (size_t a = 0; a < p; ++a) {
    for (size_t b = a; b < p; ++b) {
      const double correlation =
          product_[varying[a] * width + varying[b]] / (scale[a] * scale[b]);
      matrix[b * p + a] = a == b ? 1 + ridge : correlation;
    }
  }
  const std::vector<double> projected = slopes;
  if (!Cholesky(matrix, p)) {
    return Fail("STAT-0003", ExitCode::kInput,
                fmt::format("the {} features are linearly dependent", p), "",
                "drop a feature or use a ridge penalty above 0");
  }
  SolveCholesky(matrix, p, slopes);
  LinearModel model;
  model.rows = rows_;
  model.coefficients.assign(width - 1, 0.0);
  model.constant_features = static_cast<int>(width - 1 - p);
  model.intercept = mean_[width - 1];
  // |y|^2 - 2 b'c + b'Rb with (R + ridge I) b = c.
  double residual = product_[width * width - 1];
  for (size_t a = 0; a < p; ++a) {
    residual -= slopes[a] * (projected[a] + ridge * slopes[a]);
    const double coefficient = slopes[a] / scale[a];
    model.coefficients[varying[a]] = coefficient;
    model.intercept -= coefficient * mean_[varying[a]];
  }
  model.residual_deviation = std::sqrt(std::max(0.0, residual) / rows);
  return model;
}

}  // namespace stepslack::stats

// Ordinary and ridge least squares for a few dozen features, in one pass over the rows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "stepslack/base/result.h"

namespace stepslack::stats {

struct LinearModel {
  double intercept = 0;
  std::vector<double> coefficients;
  int64_t rows = 0;
  double residual_deviation = 0;  // sqrt(residual sum of squares / rows)
  int constant_features = 0;      // features without variation, given coefficient 0

  // `features` is as long as `coefficients`.
  double Predict(std::span<const double> features) const;
};

// Means and centred cross products of features and response, updated row by row with
// Welford's recurrence (Chan, Golub and LeVeque 1983), so that large means cost no
// digits.
class CrossProducts {
 public:
  static constexpr int kMaxFeatures = 128;

  explicit CrossProducts(int features);  // 1 to kMaxFeatures

  // Rows with a value that is not finite are counted in skipped() and left out.
  void Add(std::span<const double> features, double response);
  // As if the rows of `other` had been added after ours.
  void Merge(const CrossProducts& other);

  int64_t rows() const { return rows_; }
  int64_t skipped() const { return skipped_; }

  // Minimises (1/rows) sum (y - b0 - x b)^2 + ridge * sum var(x_j) b_j^2: the penalty
  // acts on standardised features, never on the intercept. Cholesky on the
  // correlations. Errors: STAT-0001 fewer than two rows; STAT-0002 ridge negative or
  // not finite; STAT-0003 features linearly dependent (only without ridge).
  base::Result<LinearModel> Solve(double ridge) const;

 private:
  int features_;
  int64_t rows_ = 0;
  int64_t skipped_ = 0;
  std::vector<double> mean_;     // features, then response
  std::vector<double> product_;  // (features + 1)^2, upper triangle
  std::vector<double> before_;   // scratch: deviations from the old means
  std::vector<double> after_;    // scratch: deviations from the new means
};

}  // namespace stepslack::stats

// Two maps that repair forecasts: isotonic regression and temperature scaling.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace stepslack::stats {

// Non-decreasing fit of y against x by least squares: pool adjacent violators (Ayer et
// al. 1955), O(n log n). Equal x are one point with their mean y (scikit-learn's
// convention; R's isoreg keeps them apart). `weights` empty: all 1; else positive.
class IsotonicFit {
 public:
  // Nothing when the lengths differ, there is no point, a value is not finite or a
  // weight is not positive.
  static std::optional<IsotonicFit> Fit(std::span<const double> x,
                                        std::span<const double> y,
                                        std::span<const double> weights = {});

  // Linear between the points, constant outside them.
  double operator()(double x) const;
  const std::vector<double>& x() const { return x_; }            // distinct, ascending
  const std::vector<double>& fitted() const { return fitted_; }  // at x()

 private:
  std::vector<double> x_;
  std::vector<double> fitted_;
};

struct TemperatureFit {
  double temperature = 1;
  double nll = 0;         // mean negative log likelihood at `temperature`, nats
  double nll_before = 0;  // at 1
  std::string method;
};

// Mean of -ln softmax(logits / temperature)[label], nats.
double SoftmaxNll(std::span<const double> logits, size_t classes,
                  std::span<const int> labels, double temperature);

// Temperature T that minimises SoftmaxNll (Guo et al. 2017). The mean is convex in 1 /
// T, whose root of the derivative is found by bisection on [1e-3, 1e3]; a minimum
// beyond is reported at that end, and `method` says so. `logits` holds one row of
// `classes` values a label. Nothing for unequal sizes, fewer than two classes, a label
// out of range, a value that is not finite, or no row.
std::optional<TemperatureFit> FitTemperature(std::span<const double> logits,
                                             size_t classes,
                                             std::span<const int> labels);

}  // namespace stepslack::stats

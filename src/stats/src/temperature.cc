#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "sample.h"
#include "stepslack/stats/recalibration.h"

namespace stepslack::stats {
namespace {

constexpr double kColdest = 1e-3;
constexpr double kHottest = 1e3;

bool Usable(std::span<const double> logits, size_t classes,
            std::span<const int> labels) {
  if (classes < 2 || labels.empty() || logits.size() / classes != labels.size() ||
      logits.size() % classes != 0 || !AllFinite(logits)) {
    return false;
  }
  return std::all_of(labels.begin(), labels.end(), [&](int label) {
    return label >= 0 && static_cast<size_t>(label) < classes;
  });
}

struct Softmax {
  double log_sum = 0;  // ln sum exp(b z)
  double mean = 0;     // sum softmax * z
};

// Shifted by the largest logit so that nothing overflows.
Softmax Weigh(std::span<const double> row, double b) {
  const double top = *std::max_element(row.begin(), row.end());
  double sum = 0;
  double weighted = 0;
  for (double z : row) {
    const double weight = std::exp(b * (z - top));
    sum += weight;
    weighted += weight * z;
  }
  return {b * top + std::log(sum), weighted / sum};
}

// Derivative of the mean negative log likelihood after b = 1 / T; it grows with b.
double Slope(std::span<const double> logits, size_t classes,
             std::span<const int> labels, double b) {
  double slope = 0;
  for (size_t i = 0; i < labels.size(); ++i) {
    const auto row = logits.subspan(i * classes, classes);
    slope += Weigh(row, b).mean - row[static_cast<size_t>(labels[i])];
  }
  return slope;
}

}  // namespace

double SoftmaxNll(std::span<const double> logits, size_t classes,
                  std::span<const int> labels, double temperature) {
  if (!Usable(logits, classes, labels) || !(temperature > 0)) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  const double b = 1 / temperature;
  double sum = 0;
  for (size_t i = 0; i < labels.size(); ++i) {
    const auto row = logits.subspan(i * classes, classes);
    sum += Weigh(row, b).log_sum - b * row[static_cast<size_t>(labels[i])];
  }
  return sum / static_cast<double>(labels.size());
}

std::optional<TemperatureFit> FitTemperature(std::span<const double> logits,
                                             size_t classes,
                                             std::span<const int> labels) {
  if (!Usable(logits, classes, labels)) return std::nullopt;
  double low = 1 / kHottest;
  double high = 1 / kColdest;
  TemperatureFit fit;
  fit.method = "temperature scaling, minimum of the mean negative log likelihood";
  if (Slope(logits, classes, labels, low) >= 0) {
    high = low;
    fit.method += "; at the end of the searched range";
  } else if (Slope(logits, classes, labels, high) <= 0) {
    low = high;
    fit.method += "; at the end of the searched range";
  }
  // 200 halvings of the logarithm reach the last bit.
  for (int i = 0; i < 200 && low < high; ++i) {
    const double middle = std::sqrt(low * high);
    if (middle <= low || middle >= high) break;
    (Slope(logits, classes, labels, middle) > 0 ? high : low) = middle;
  }
  fit.temperature = 1 / std::sqrt(low * high);
  fit.nll = SoftmaxNll(logits, classes, labels, fit.temperature);
  fit.nll_before = SoftmaxNll(logits, classes, labels, 1);
  return fit;
}

}  // namespace stepslack::stats

#include "sample.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace stepslack::stats {

bool AllFinite(std::span<const double> values) {
  return std::all_of(values.begin(), values.end(),
                     [](double v) { return std::isfinite(v); });
}

double Mean(std::span<const double> values) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  double sum = 0;
  for (double v : values) sum += v;
  return sum / static_cast<double>(values.size());
}

double Variance(std::span<const double> values) {
  if (values.size() < 2) return std::numeric_limits<double>::quiet_NaN();
  // The second pass starts from the deviations, so a large common offset costs no
  // digits; equal values give exactly zero.
  const bool equal = std::all_of(values.begin(), values.end(),
                                 [&](double v) { return v == values.front(); });
  if (equal) return 0;
  const double mean = Mean(values);
  double sum = 0;
  for (double v : values) sum += (v - mean) * (v - mean);
  return sum / static_cast<double>(values.size() - 1);
}

std::vector<double> Sorted(std::span<const double> values) {
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

double MedianOfSorted(std::span<const double> sorted) {
  if (sorted.empty()) return std::numeric_limits<double>::quiet_NaN();
  const size_t middle = sorted.size() / 2;
  if (sorted.size() % 2 == 1) return sorted[middle];
  return 0.5 * (sorted[middle - 1] + sorted[middle]);
}

std::vector<double> Logs(std::span<const double> values) {
  std::vector<double> logs;
  logs.reserve(values.size());
  for (double v : values) {
    if (!std::isfinite(v) || v <= 0) return {};
    logs.push_back(std::log(v));
  }
  return logs;
}

bool IsConfidence(double confidence) { return confidence > 0 && confidence < 1; }

base::Estimate NotEstimated(std::string_view unit, int64_t n, std::string_view n_of,
                            double confidence, std::string reason) {
  base::Estimate estimate;
  estimate.unit = std::string(unit);
  estimate.n = n;
  estimate.n_of = std::string(n_of);
  estimate.confidence = confidence;
  estimate.method = std::move(reason);
  return estimate;
}

base::Estimate PointOnly(double value, std::string_view unit, int64_t n,
                         std::string_view n_of, double confidence, std::string reason) {
  base::Estimate estimate = NotEstimated(unit, n, n_of, confidence, std::move(reason));
  estimate.value = value;
  return estimate;
}

}  // namespace stepslack::stats

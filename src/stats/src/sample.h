// Moments and order of a sample, and the form of an estimate that could not be made.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stepslack/base/estimate.h"

namespace stepslack::stats {

bool AllFinite(std::span<const double> values);
double Mean(std::span<const double> values);      // NaN when empty
double Variance(std::span<const double> values);  // n - 1; NaN below two values
std::vector<double> Sorted(std::span<const double> values);
double MedianOfSorted(std::span<const double> sorted);  // NaN when empty
// Natural logarithms; empty when a value is not positive and finite.
std::vector<double> Logs(std::span<const double> values);
bool IsConfidence(double confidence);  // inside (0, 1)

// An estimate without value and interval; `reason` becomes its method.
base::Estimate NotEstimated(std::string_view unit, int64_t n, std::string_view n_of,
                            double confidence, std::string reason);
// A value without interval; `reason` becomes its method.
base::Estimate PointOnly(double value, std::string_view unit, int64_t n,
                         std::string_view n_of, double confidence, std::string reason);

}  // namespace stepslack::stats

#include "stepslack/stats/intervals.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "sample.h"
#include "stepslack/stats/distributions.h"

namespace stepslack::stats {
namespace {

using base::Estimate;

// The reason why no estimate can be made from `values`; empty when one can.
std::string Refusal(std::span<const double> values, double confidence) {
  if (values.empty()) return "no values";
  if (!AllFinite(values)) return "a value is not finite";
  if (!IsConfidence(confidence)) return "confidence is not between 0 and 1";
  return "";
}

void SetInterval(Estimate& estimate, double center, double half_width) {
  estimate.low = center - half_width;
  estimate.high = center + half_width;
}

void Exponentiate(Estimate& estimate) {
  for (auto* bound : {&estimate.value, &estimate.low, &estimate.high}) {
    if (bound->has_value()) *bound = std::exp(**bound);
  }
}

std::vector<double> Differences(std::span<const double> a, std::span<const double> b) {
  std::vector<double> differences(a.size());
  for (size_t i = 0; i < a.size(); ++i) differences[i] = a[i] - b[i];
  return differences;
}

Estimate ProportionRefusal(int64_t successes, int64_t n, std::string_view n_of,
                           double confidence) {
  std::string reason;
  if (n <= 0) {
    reason = "no trials";
  } else if (successes < 0 || successes > n) {
    reason = "successes are not between 0 and the number of trials";
  } else if (!IsConfidence(confidence)) {
    reason = "confidence is not between 0 and 1";
  }
  return NotEstimated("1", std::max<int64_t>(n, 0), n_of, confidence, reason);
}

}  // namespace

Estimate MeanInterval(std::span<const double> values, std::string_view unit,
                      std::string_view n_of, double confidence) {
  const auto n = static_cast<int64_t>(values.size());
  if (auto reason = Refusal(values, confidence); !reason.empty()) {
    return NotEstimated(unit, n, n_of, confidence, reason);
  }
  const double mean = Mean(values);
  if (!std::isfinite(mean)) {
    return NotEstimated(unit, n, n_of, confidence, "the sum is out of range");
  }
  if (n < 2) {
    return PointOnly(mean, unit, n, n_of, confidence,
                     "mean; a t interval needs two values");
  }
  Estimate estimate = PointOnly(mean, unit, n, n_of, confidence, "t interval");
  const double degrees = static_cast<double>(n - 1);
  const double error = std::sqrt(Variance(values) / static_cast<double>(n));
  SetInterval(estimate, mean, StudentQuantile(0.5 + confidence / 2, degrees) * error);
  return estimate;
}

Estimate PairedMeanDifference(std::span<const double> a, std::span<const double> b,
                              std::string_view unit, std::string_view n_of,
                              double confidence) {
  if (a.size() != b.size()) {
    return NotEstimated(unit, 0, n_of, confidence, "the samples are not paired");
  }
  Estimate estimate = MeanInterval(Differences(a, b), unit, n_of, confidence);
  if (estimate.low.has_value()) estimate.method = "t interval on paired differences";
  return estimate;
}

Estimate GeometricMeanInterval(std::span<const double> values, std::string_view unit,
                               std::string_view n_of, double confidence) {
  const std::vector<double> logs = Logs(values);
  if (!values.empty() && logs.empty()) {
    return NotEstimated(unit, static_cast<int64_t>(values.size()), n_of, confidence,
                        "a value is not positive and finite");
  }
  Estimate estimate = MeanInterval(logs, unit, n_of, confidence);
  Exponentiate(estimate);
  if (estimate.low.has_value()) {
    estimate.method = "t interval on logs";
  } else if (estimate.value.has_value()) {
    estimate.method = "geometric mean; a t interval needs two values";
  }
  return estimate;
}

Estimate LogRatioInterval(std::span<const double> a, std::span<const double> b,
                          std::string_view n_of, double confidence) {
  const auto n = static_cast<int64_t>(a.size() + b.size());
  const std::vector<double> log_a = Logs(a);
  const std::vector<double> log_b = Logs(b);
  if (log_a.empty() || log_b.empty() || !IsConfidence(confidence)) {
    return NotEstimated("1", n, n_of, confidence,
                        a.empty() || b.empty() ? "a sample is empty"
                        : !IsConfidence(confidence)
                            ? "confidence is not between 0 and 1"
                            : "a value is not positive and finite");
  }
  const double difference = Mean(log_a) - Mean(log_b);
  if (a.size() < 2 || b.size() < 2) {
    return PointOnly(std::exp(difference), "1", n, n_of, confidence,
                     "ratio of geometric means; an interval needs two values a side");
  }
  const double na = static_cast<double>(a.size());
  const double nb = static_cast<double>(b.size());
  const double va = Variance(log_a) / na;
  const double vb = Variance(log_b) / nb;
  double half_width = 0;
  if (va + vb > 0) {
    const double degrees =
        (va + vb) * (va + vb) / (va * va / (na - 1) + vb * vb / (nb - 1));
    half_width = StudentQuantile(0.5 + confidence / 2, degrees) * std::sqrt(va + vb);
  }
  Estimate estimate = PointOnly(
      difference, "1", n, n_of, confidence,
      fmt::format("Welch t interval on logs, {} against {}", a.size(), b.size()));
  SetInterval(estimate, difference, half_width);
  Exponentiate(estimate);
  return estimate;
}

Estimate PairedLogRatioInterval(std::span<const double> a, std::span<const double> b,
                                std::string_view n_of, double confidence) {
  if (a.size() != b.size()) {
    return NotEstimated("1", 0, n_of, confidence, "the samples are not paired");
  }
  const std::vector<double> log_a = Logs(a);
  const std::vector<double> log_b = Logs(b);
  if (log_a.size() != a.size() || log_b.size() != b.size()) {
    return NotEstimated("1", static_cast<int64_t>(a.size()), n_of, confidence,
                        "a value is not positive and finite");
  }
  Estimate estimate = MeanInterval(Differences(log_a, log_b), "1", n_of, confidence);
  Exponentiate(estimate);
  if (estimate.low.has_value()) {
    estimate.method = "paired t interval on logs";
  } else if (estimate.value.has_value()) {
    estimate.method = "ratio of one pair; an interval needs two";
  }
  return estimate;
}

Estimate WilsonInterval(int64_t successes, int64_t n, std::string_view n_of,
                        double confidence) {
  Estimate estimate = ProportionRefusal(successes, n, n_of, confidence);
  if (!estimate.method.empty()) return estimate;
  const double count = static_cast<double>(n);
  const double share = static_cast<double>(successes) / count;
  const double z = NormalQuantile(0.5 + confidence / 2);
  const double scale = 1 + z * z / count;
  const double center = (share + z * z / (2 * count)) / scale;
  const double spread =
      z / scale * std::sqrt(share * (1 - share) / count + z * z / (4 * count * count));
  estimate.value = share;
  // At the ends the bound is the end itself; rounding must not leave it inside.
  estimate.low = successes == 0 ? 0.0 : std::max(0.0, center - spread);
  estimate.high = successes == n ? 1.0 : std::min(1.0, center + spread);
  estimate.method = "Wilson interval";
  return estimate;
}

Estimate ClopperPearsonInterval(int64_t successes, int64_t n, std::string_view n_of,
                                double confidence) {
  Estimate estimate = ProportionRefusal(successes, n, n_of, confidence);
  if (!estimate.method.empty()) return estimate;
  const double k = static_cast<double>(successes);
  const double count = static_cast<double>(n);
  const double tail = (1 - confidence) / 2;
  estimate.value = k / count;
  estimate.low = successes == 0 ? 0.0 : BetaQuantile(tail, k, count - k + 1);
  estimate.high = successes == n ? 1.0 : BetaQuantile(1 - tail, k + 1, count - k);
  estimate.method = "Clopper-Pearson interval";
  return estimate;
}

double BinomialTwoSidedP(int64_t successes, int64_t n, double p0) {
  if (n < 0 || successes < 0 || successes > n || !(p0 >= 0 && p0 <= 1)) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  // Outcomes whose probabilities differ only by rounding count as equally likely.
  const double likelihood = BinomialPmf(successes, n, p0) * (1 + 1e-7);
  const double expected = p0 * static_cast<double>(n);
  const double k = static_cast<double>(successes);
  if (k == expected) return 1;
  const bool below = k < expected;
  // On the far side of the mean the probabilities fall monotonically away from it.
  int64_t inner = below ? static_cast<int64_t>(std::ceil(expected)) : -1;
  int64_t outer = below ? n + 1 : static_cast<int64_t>(std::floor(expected)) + 1;
  while (inner < outer) {
    const int64_t middle = inner + (outer - inner) / 2;
    const bool rare = BinomialPmf(middle, n, p0) <= likelihood;
    if (below == rare) {
      outer = middle;
    } else {
      inner = middle + 1;
    }
  }
  // below: `inner` is the first rare outcome above; else: the first that is not rare.
  // Upper tails are taken from the mirrored distribution: 1 - cdf would lose small
  // ones.
  const double near_tail =
      below ? BinomialCdf(successes, n, p0) : BinomialCdf(n - successes, n, 1 - p0);
  const double far_tail =
      below ? BinomialCdf(n - inner, n, 1 - p0) : BinomialCdf(inner - 1, n, p0);
  return std::min(1.0, near_tail + far_tail);
}

Estimate MedianInterval(std::span<const double> values, std::string_view unit,
                        std::string_view n_of, double confidence) {
  const auto n = static_cast<int64_t>(values.size());
  if (auto reason = Refusal(values, confidence); !reason.empty()) {
    return NotEstimated(unit, n, n_of, confidence, reason);
  }
  const std::vector<double> sorted = Sorted(values);
  Estimate estimate = PointOnly(MedianOfSorted(sorted), unit, n, n_of, confidence, "");
  int64_t k = 0;
  int64_t too_large = n / 2 + 1;
  while (k + 1 < too_large) {
    const int64_t middle = k + (too_large - k) / 2;
    const bool fits = BinomialCdf(middle - 1, n, 0.5) <= (1 - confidence) / 2;
    (fits ? k : too_large) = middle;
  }
  if (k == 0) {
    const double widest = n < 2 ? 0.0 : 1 - std::pow(0.5, static_cast<double>(n - 1));
    estimate.method = fmt::format(
        "median; the range of {} values covers it with {:.1f} % only", n, 100 * widest);
    return estimate;
  }
  estimate.low = sorted[static_cast<size_t>(k - 1)];
  estimate.high = sorted[static_cast<size_t>(n - k)];
  estimate.method = fmt::format("order statistics {} and {}, covering {:.1f} %", k,
                                n + 1 - k, 100 * (1 - 2 * BinomialCdf(k - 1, n, 0.5)));
  return estimate;
}

}  // namespace stepslack::stats

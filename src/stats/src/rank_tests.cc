#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "sample.h"
#include "stepslack/stats/distributions.h"
#include "stepslack/stats/exact_tests.h"

namespace stepslack::stats {
namespace {

constexpr double kMaxCountingSteps = 1e8;
constexpr size_t kMaxExactSide = 50;
constexpr double kMaxPairs = 4e6;

struct Ranks {
  std::vector<int64_t> doubled;  // twice the midrank of x, then of y
  double tie_term = 0;           // sum of t^3 - t over groups of equal values
  bool ties = false;
};

Ranks PooledRanks(std::span<const double> x, std::span<const double> y) {
  std::vector<double> pooled(x.begin(), x.end());
  pooled.insert(pooled.end(), y.begin(), y.end());
  std::vector<size_t> order(pooled.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return pooled[a] < pooled[b]; });
  Ranks ranks;
  ranks.doubled.resize(pooled.size());
  for (size_t begin = 0; begin < order.size();) {
    size_t end = begin + 1;
    while (end < order.size() && pooled[order[end]] == pooled[order[begin]]) ++end;
    for (size_t i = begin; i < end; ++i) {
      ranks.doubled[order[i]] = static_cast<int64_t>(begin + end + 1);
    }
    const double t = static_cast<double>(end - begin);
    ranks.tie_term += t * t * t - t;
    if (end - begin > 1) ranks.ties = true;
    begin = end;
  }
  return ranks;
}

// Number of subsets of each size-k rank sum (doubled); sums stay positive, so doubles
// lose only relative precision. Empty when that would take too long.
std::vector<double> CountRankSums(std::span<const int64_t> doubled, size_t k) {
  std::vector<int64_t> largest(doubled.begin(), doubled.end());
  std::sort(largest.rbegin(), largest.rend());
  int64_t top = 0;
  for (size_t i = 0; i < k; ++i) top += largest[i];
  const auto width = static_cast<size_t>(top + 1);
  const double steps = static_cast<double>(width) * static_cast<double>(k) *
                       static_cast<double>(doubled.size());
  if (steps > kMaxCountingSteps) return {};
  std::vector<std::vector<double>> counts(k + 1, std::vector<double>(width, 0.0));
  counts[0][0] = 1;
  size_t seen = 0;
  for (int64_t rank : doubled) {
    const auto step = static_cast<size_t>(rank);
    for (size_t size = std::min(k, seen + 1); size > 0; --size) {
      for (size_t sum = width - 1; sum >= step; --sum) {
        counts[size][sum] += counts[size - 1][sum - step];
      }
    }
    ++seen;
  }
  return std::move(counts[k]);
}

// Twice the smaller tail of the rank sum of the smaller sample.
std::optional<double> ExactP(const Ranks& ranks, size_t nx) {
  const size_t n = ranks.doubled.size();
  const bool x_is_smaller = nx <= n - nx;
  const size_t k = x_is_smaller ? nx : n - nx;
  const std::vector<double> counts = CountRankSums(ranks.doubled, k);
  if (counts.empty()) return std::nullopt;
  int64_t observed = 0;
  for (size_t i = 0; i < k; ++i)
    observed += ranks.doubled[x_is_smaller ? i : n - k + i];
  double low = 0;
  double high = 0;
  double total = 0;
  for (size_t sum = 0; sum < counts.size(); ++sum) {
    total += counts[sum];
    if (static_cast<int64_t>(sum) <= observed) low += counts[sum];
    if (static_cast<int64_t>(sum) >= observed) high += counts[sum];
  }
  return std::min(1.0, 2 * std::min(low, high) / total);
}

double DeviationOfU(double m, double n, double tie_term) {
  const double all = m + n;
  if (all < 2) return 0;
  return std::sqrt(m * n / 12 * (all + 1 - tie_term / (all * (all - 1))));
}

// P(U <= u) for all u without ties: U is the rank sum minus its least value.
std::vector<double> CumulativeU(size_t m, size_t n) {
  std::vector<int64_t> ranks(m + n);
  std::iota(ranks.begin(), ranks.end(), int64_t{1});
  const size_t k = std::min(m, n);
  const std::vector<double> counts = CountRankSums(ranks, k);
  std::vector<double> cumulative;
  if (counts.empty()) return cumulative;
  double running = 0;
  for (size_t sum = k * (k + 1) / 2; sum < counts.size(); ++sum) {
    running += counts[sum];
    cumulative.push_back(running);
  }
  for (double& value : cumulative) value /= running;
  return cumulative;
}

// Fills the exact interval, or the reason why the samples can not reach the level.
void SetExactShift(base::Estimate& estimate, std::span<const double> differences,
                   size_t m, size_t n) {
  const std::vector<double> cumulative = CumulativeU(m, n);
  const double tail = (1 - estimate.confidence) / 2;
  const auto quantile =
      static_cast<size_t>(std::lower_bound(cumulative.begin(), cumulative.end(), tail) -
                          cumulative.begin());
  if (quantile == 0) {
    estimate.method = fmt::format(
        "Hodges-Lehmann shift; the widest exact interval covers {:.1f} % only",
        100 * (1 - 2 * cumulative[0]));
    return;
  }
  estimate.low = differences[quantile - 1];
  estimate.high = differences[m * n - quantile];
  estimate.method =
      fmt::format("Hodges-Lehmann shift, exact interval covering {:.1f} %",
                  100 * (1 - 2 * cumulative[quantile - 1]));
}

double WithinTies(std::span<const double> x, std::span<const double> y) {
  double term = 0;
  for (auto side : {x, y}) term += PooledRanks(side, {}).tie_term;
  return term;
}

// Inverts |U(d) - mn/2| - 0.5 <= z * sigma, where U(d) counts the differences above d.
// U changes only at the differences themselves, so the limits are two of them. Shifted
// by any other d, x and y have no common values: only ties within a side enter sigma.
void SetAsymptoticShift(base::Estimate& estimate, std::span<const double> differences,
                        std::span<const double> x, std::span<const double> y) {
  const double m = static_cast<double>(x.size());
  const double n = static_cast<double>(y.size());
  const double z = NormalQuantile(0.5 + estimate.confidence / 2);
  const double reach = 0.5 + z * DeviationOfU(m, n, WithinTies(x, y));
  const double upper_count = m * n / 2 + reach;
  if (m * n < upper_count) {
    estimate.method = "Hodges-Lehmann shift; too few values for an interval";
    return;
  }
  // Lower limit: the first difference with fewer than `upper_count` strictly above it.
  // Upper limit, by symmetry: the last with fewer than that many strictly below it.
  const auto count = differences.size();
  for (size_t i = 0; i < count && !estimate.low.has_value(); ++i) {
    const auto above =
        differences.end() -
        std::upper_bound(differences.begin(), differences.end(), differences[i]);
    if (static_cast<double>(above) < upper_count) estimate.low = differences[i];
  }
  for (size_t i = count; i > 0 && !estimate.high.has_value(); --i) {
    const auto below =
        std::lower_bound(differences.begin(), differences.end(), differences[i - 1]) -
        differences.begin();
    if (static_cast<double>(below) < upper_count) estimate.high = differences[i - 1];
  }
  estimate.method = "Hodges-Lehmann shift, tie-corrected normal interval";
}

}  // namespace

MannWhitneyResult MannWhitney(std::span<const double> x, std::span<const double> y) {
  MannWhitneyResult result;
  if (x.empty() || y.empty() || !AllFinite(x) || !AllFinite(y)) {
    result.method =
        x.empty() || y.empty() ? "a sample is empty" : "a value is not finite";
    return result;
  }
  const Ranks ranks = PooledRanks(x, y);
  const double m = static_cast<double>(x.size());
  const double n = static_cast<double>(y.size());
  double rank_sum = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    rank_sum += 0.5 * static_cast<double>(ranks.doubled[i]);
  }
  const double u = rank_sum - m * (m + 1) / 2;
  result.u = u;
  result.superiority = u / (m * n);
  result.ties = ranks.ties;
  result.p_exact = ExactP(ranks, x.size());
  const double sigma = DeviationOfU(m, n, ranks.tie_term);
  const double distance = std::max(0.0, std::fabs(u - m * n / 2) - 0.5);
  result.p_asymptotic = sigma > 0 ? 2 * NormalCdf(-distance / sigma) : 1.0;
  result.method = !result.p_exact.has_value()
                      ? "Mann-Whitney U, normal approximation"
                      : (ranks.ties ? "Mann-Whitney U, exact given the ties"
                                    : "Mann-Whitney U, exact");
  return result;
}

base::Estimate HodgesLehmannShift(std::span<const double> x, std::span<const double> y,
                                  std::string_view unit, std::string_view n_of,
                                  double confidence) {
  const auto n = static_cast<int64_t>(x.size() + y.size());
  const double pairs = static_cast<double>(x.size()) * static_cast<double>(y.size());
  std::string reason;
  if (x.empty() || y.empty()) {
    reason = "a sample is empty";
  } else if (!AllFinite(x) || !AllFinite(y)) {
    reason = "a value is not finite";
  } else if (!IsConfidence(confidence)) {
    reason = "confidence is not between 0 and 1";
  } else if (pairs > kMaxPairs) {
    reason = "more than 4 million pairs";
  }
  if (!reason.empty()) return NotEstimated(unit, n, n_of, confidence, reason);
  std::vector<double> differences;
  differences.reserve(x.size() * y.size());
  for (double a : x) {
    for (double b : y) differences.push_back(a - b);
  }
  std::sort(differences.begin(), differences.end());
  base::Estimate estimate =
      PointOnly(MedianOfSorted(differences), unit, n, n_of, confidence, "");
  const bool exact =
      std::max(x.size(), y.size()) <= kMaxExactSide && !PooledRanks(x, y).ties;
  if (exact) {
    SetExactShift(estimate, differences, x.size(), y.size());
  } else {
    SetAsymptoticShift(estimate, differences, x, y);
  }
  return estimate;
}

}  // namespace stepslack::stats

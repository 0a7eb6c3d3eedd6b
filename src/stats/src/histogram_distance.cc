#include "stepslack/stats/histogram_distance.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sample.h"
#include "stepslack/stats/bootstrap.h"

namespace stepslack::stats {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr int kMaxBins = 10'000;
using Shares = std::vector<double>;

// Empty when they are no distribution.
Shares Normalised(std::span<const double> weights) {
  double sum = 0;
  for (double w : weights) {
    if (!std::isfinite(w) || w < 0) return {};
    sum += w;
  }
  if (!(sum > 0) || !std::isfinite(sum)) return {};
  Shares shares;
  for (double w : weights) shares.push_back(w / sum);
  return shares;
}

// Sum over bins of term(p, q), or NaN when the two can not be compared.
template <typename Term>
double SumOver(std::span<const double> p, std::span<const double> q, Term term) {
  const Shares a = Normalised(p);
  const Shares b = Normalised(q);
  if (a.empty() || a.size() != b.size()) return kNan;
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += term(a[i], b[i]);
  return sum;
}

double KlTerm(double p, double q) {
  if (p == 0) return 0;
  if (q == 0) return std::numeric_limits<double>::infinity();
  return p * std::log(p / q);
}

double PsiTerm(double p, double q) {
  if (p == q) return 0;
  if (p == 0 || q == 0) return std::numeric_limits<double>::infinity();
  return (p - q) * std::log(p / q);
}

void Raise(Shares& shares, EmptyBins convention) {
  for (double& share : shares) {
    if (convention == EmptyBins::kFloor0_01) share = std::max(share, 0.01);
    if (convention == EmptyBins::kFill1e4 && share == 0) share = 1e-4;
    if (convention == EmptyBins::kFill1e6 && share == 0) share = 1e-6;
  }
}

Shares WithHalf(std::span<const double> counts) {
  Shares more(counts.begin(), counts.end());
  for (double& count : more) count += 0.5;
  return more;
}

}  // namespace

double HellingerDistance(std::span<const double> p, std::span<const double> q) {
  const double affinity =
      SumOver(p, q, [](double a, double b) { return std::sqrt(a * b); });
  return std::isnan(affinity) ? kNan : std::sqrt(std::max(0.0, 1 - affinity));
}

double TotalVariation(std::span<const double> p, std::span<const double> q) {
  return SumOver(p, q, [](double a, double b) { return std::fabs(a - b) / 2; });
}

double LargestDifference(std::span<const double> p, std::span<const double> q) {
  double largest = 0;
  const double sum = SumOver(p, q, [&](double a, double b) {
    largest = std::max(largest, std::fabs(a - b));
    return 0.0;
  });
  return std::isnan(sum) ? kNan : largest;
}

double KullbackLeibler(std::span<const double> p, std::span<const double> q) {
  return SumOver(p, q, KlTerm);
}

double JensenShannonDivergence(std::span<const double> p, std::span<const double> q) {
  const double sum = SumOver(p, q, [](double a, double b) {
    const double middle = (a + b) / 2;
    return (KlTerm(a, middle) + KlTerm(b, middle)) / 2;
  });
  return std::isnan(sum) ? kNan : std::max(0.0, sum);
}

double JensenShannonDistance(std::span<const double> p, std::span<const double> q,
                             double logarithm_base) {
  return std::sqrt(JensenShannonDivergence(p, q) / std::log(logarithm_base));
}

std::string_view ToString(EmptyBins convention) {
  switch (convention) {
    case EmptyBins::kAddHalf:
      return "half a count added to every bin";
    case EmptyBins::kFloor0_01:
      return "shares raised to at least 0.01";
    case EmptyBins::kFill1e4:
      return "empty shares set to 1e-4";
    case EmptyBins::kFill1e6:
      return "empty shares set to 1e-6";
    case EmptyBins::kNone:
      return "empty bins as they are";
  }
  return "";
}

double PopulationStabilityIndex(std::span<const double> expected,
                                std::span<const double> actual, EmptyBins convention) {
  Shares p = Normalised(expected);
  Shares q = Normalised(actual);
  if (p.empty() || p.size() != q.size()) return kNan;
  if (convention == EmptyBins::kAddHalf) {
    p = Normalised(WithHalf(expected));
    q = Normalised(WithHalf(actual));
  }
  Raise(p, convention);
  Raise(q, convention);
  double sum = 0;
  for (size_t i = 0; i < p.size(); ++i) sum += PsiTerm(p[i], q[i]);
  return sum;
}

double PsiWithoutDrift(int64_t bins, double n, double m) {
  if (bins < 1 || !(n > 0 && m > 0)) return kNan;
  return static_cast<double>(bins - 1) * (1 / n + 1 / m);
}

std::vector<double> QuantileEdges(std::span<const double> reference, int bins) {
  std::vector<double> finite;
  for (double v : reference) {
    if (std::isfinite(v)) finite.push_back(v);
  }
  if (finite.empty() || bins < 2 || bins > kMaxBins) return {};
  std::sort(finite.begin(), finite.end());
  std::vector<double> edges;
  for (int i = 1; i < bins; ++i) {
    edges.push_back(
        QuantileOfSorted(finite, static_cast<double>(i) / static_cast<double>(bins)));
  }
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  return edges;
}

std::vector<double> CountInBins(std::span<const double> values,
                                std::span<const double> inner_edges) {
  std::vector<double> counts(inner_edges.size() + 1, 0);
  for (double v : values) {
    if (!std::isfinite(v)) continue;
    const auto bin = std::upper_bound(inner_edges.begin(), inner_edges.end(), v) -
                     inner_edges.begin();
    counts[static_cast<size_t>(bin)] += 1;
  }
  return counts;
}

}  // namespace stepslack::stats

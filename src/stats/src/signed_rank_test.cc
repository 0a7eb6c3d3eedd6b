#include <algorithm>
#include <cmath>
#include <vector>

#include "midranks.h"
#include "sample.h"
#include "stepslack/stats/distributions.h"
#include "stepslack/stats/paired_tests.h"

namespace stepslack::stats {
namespace {

constexpr size_t kMaxExact = 400;

// P(W+ = s) for s in half ranks: every rank is positive with chance 1/2.
std::vector<double> RankSumShares(std::span<const double> ranks) {
  double total = 0;
  for (double r : ranks) total += 2 * r;
  std::vector<double> shares(static_cast<size_t>(std::llround(total)) + 1, 0.0);
  shares[0] = 1;
  size_t reached = 0;
  for (double r : ranks) {
    const auto step = static_cast<size_t>(std::llround(2 * r));
    reached += step;
    for (size_t s = reached + 1; s-- > 0;) {
      shares[s] = 0.5 * shares[s] + (s >= step ? 0.5 * shares[s - step] : 0.0);
    }
  }
  return shares;
}

double ExactTwoSided(std::span<const double> ranks, double w_plus) {
  const std::vector<double> shares = RankSumShares(ranks);
  const auto observed = static_cast<size_t>(std::llround(2 * w_plus));
  double low = 0;
  double high = 0;
  for (size_t s = 0; s < shares.size(); ++s) {
    if (s <= observed) low += shares[s];
    if (s >= observed) high += shares[s];
  }
  return std::min(1.0, 2 * std::min(low, high));
}

// Variance of W+ given the midranks is a quarter of the sum of their squares.
double NormalTwoSided(std::span<const double> ranks, double w_plus) {
  double sum = 0;
  double squares = 0;
  for (double r : ranks) {
    sum += r;
    squares += r * r;
  }
  const double distance = std::max(0.0, std::fabs(w_plus - sum / 2) - 0.5);
  return 2 * NormalCdf(-distance / std::sqrt(squares / 4));
}

}  // namespace

SignedRankResult SignedRankTest(std::span<const double> differences) {
  SignedRankResult result;
  if (!AllFinite(differences)) {
    result.method = "a difference is not finite";
    return result;
  }
  std::vector<double> sizes;
  std::vector<bool> positive;
  for (double d : differences) {
    if (d == 0) {
      ++result.zeros;
      continue;
    }
    sizes.push_back(std::fabs(d));
    positive.push_back(d > 0);
  }
  if (sizes.empty()) {
    result.method = "no difference other than zero";
    return result;
  }
  const std::vector<double> ranks = Midranks(sizes);
  double plus = 0;
  double all = 0;
  for (size_t i = 0; i < ranks.size(); ++i) {
    all += ranks[i];
    if (positive[i]) plus += ranks[i];
  }
  result.w_plus = plus;
  result.w = std::min(plus, all - plus);
  result.exact = sizes.size() <= kMaxExact;
  result.p = result.exact ? ExactTwoSided(ranks, plus) : NormalTwoSided(ranks, plus);
  result.method = result.exact
                      ? "Wilcoxon signed rank, exact given ties, zeros left out"
                      : "Wilcoxon signed rank, normal with continuity 0.5, zeros left "
                        "out";
  return result;
}

}  // namespace stepslack::stats

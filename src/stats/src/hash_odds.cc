#include "stepslack/stats/hash_odds.h"

#include <cmath>
#include <limits>

namespace stepslack::stats {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

}  // namespace

double LshCandidateProbability(double similarity, int64_t bands, int64_t rows) {
  if (!(similarity >= 0 && similarity <= 1) || bands < 1 || rows < 1) return kNan;
  const double band = std::pow(similarity, static_cast<double>(rows));
  // Through log1p and expm1, so that small chances keep their digits.
  return -std::expm1(static_cast<double>(bands) * std::log1p(-band));
}

double LshThreshold(int64_t bands, int64_t rows) {
  if (bands < 1 || rows < 1) return kNan;
  return std::pow(1 / static_cast<double>(bands), 1 / static_cast<double>(rows));
}

double MinHashDeviation(double similarity, int64_t k) {
  if (!(similarity >= 0 && similarity <= 1) || k < 1) return kNan;
  return std::sqrt(similarity * (1 - similarity) / static_cast<double>(k));
}

double HashCollisionOdds(double n, int bits) {
  if (!(n >= 1) || bits < 1 || bits > 512) return kNan;
  return -std::expm1(-n * (n - 1) * std::exp2(-bits - 1));
}

}  // namespace stepslack::stats

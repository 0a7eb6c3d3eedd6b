#include "stepslack/stats/factorial.h"

#include <bit>

#include "sample.h"

namespace stepslack::stats {
namespace {

constexpr int kMaxFactors = 20;

bool Usable(std::span<const double> y, int factors) {
  return factors >= 1 && factors <= kMaxFactors && y.size() == size_t{1} << factors &&
         AllFinite(y);
}

}  // namespace

std::vector<double> MainEffects(std::span<const double> y, int factors) {
  std::vector<double> effects;
  if (!Usable(y, factors)) return effects;
  for (int f = 0; f < factors; ++f) {
    effects.push_back(*FactorialContrast(y, factors, uint32_t{1} << (factors - 1 - f)));
  }
  return effects;
}

std::optional<double> FactorialContrast(std::span<const double> y, int factors,
                                        uint32_t mask) {
  if (!Usable(y, factors) || mask == 0 || mask >> factors != 0) return std::nullopt;
  double sum = 0;
  for (size_t i = 0; i < y.size(); ++i) {
    const int low = std::popcount(mask & ~static_cast<uint32_t>(i));
    sum += low % 2 == 0 ? y[i] : -y[i];
  }
  const size_t half = y.size() / 2;  // even by construction
  return sum / static_cast<double>(half);
}

}  // namespace stepslack::stats

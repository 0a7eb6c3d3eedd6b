#include "stepslack/stats/power.h"

#include <algorithm>
#include <cmath>

#include "stepslack/stats/distributions.h"

namespace stepslack::stats {
namespace {

constexpr double kMostRuns = 1e9;
// From here on the t distribution is the normal one for this purpose.
constexpr double kNormalFrom = 1e5;

bool IsLevel(double p) { return p > 0 && p < 1; }
bool IsPositive(double x) { return std::isfinite(x) && x > 0; }

double Power(double noncentrality, double degrees, double alpha) {
  if (degrees > kNormalFrom || noncentrality > 30) {
    const double z = NormalQuantile(1 - alpha / 2);
    return NormalCdf(noncentrality - z) + NormalCdf(-noncentrality - z);
  }
  const double critical = StudentQuantile(1 - alpha / 2, degrees);
  const double above = 1 - NoncentralStudentCdf(critical, degrees, noncentrality);
  return above + NoncentralStudentCdf(-critical, degrees, noncentrality);
}

// Two independent groups of n, or n pairs.
enum class Design { kGroups, kPairs };

std::optional<double> PowerAt(Design design, int64_t n, double effect, double deviation,
                              double alpha) {
  if (n < 2 || !std::isfinite(effect) || !IsPositive(deviation) || !IsLevel(alpha)) {
    return std::nullopt;
  }
  const double count = static_cast<double>(n);
  const double size = std::fabs(effect) / deviation;
  if (!std::isfinite(size)) return std::nullopt;
  return design == Design::kGroups
             ? Power(size * std::sqrt(count / 2), 2 * (count - 1), alpha)
             : Power(size * std::sqrt(count), count - 1, alpha);
}

std::optional<int64_t> Needed(Design design, double effect, double deviation,
                              const PowerOptions& options) {
  if (!IsPositive(std::fabs(effect)) || !IsPositive(deviation) ||
      !IsLevel(options.power) || !IsLevel(options.alpha)) {
    return std::nullopt;
  }
  const double z =
      NormalQuantile(1 - options.alpha / 2) + NormalQuantile(options.power);
  const double size = std::fabs(effect) / deviation;
  const double groups = design == Design::kGroups ? 2.0 : 1.0;
  // The normal answer is a lower bound, a few runs below the exact one.
  const double start = groups * z * z / (size * size);
  if (!std::isfinite(size) || !(start < kMostRuns)) return std::nullopt;
  auto n = static_cast<int64_t>(std::max(2.0, z > 0 ? std::floor(start) : 2.0));
  if (start > kNormalFrom) return static_cast<int64_t>(std::ceil(start));
  while (true) {
    const std::optional<double> power =
        PowerAt(design, n, effect, deviation, options.alpha);
    if (!power.has_value() || std::isnan(*power)) return std::nullopt;
    if (static_cast<double>(n) > kMostRuns) return std::nullopt;
    if (*power >= options.power) return n;
    ++n;
  }
}

double HalfWidth(double n, double confidence) {
  return StudentQuantile(0.5 + confidence / 2, n - 1) / std::sqrt(n);
}

}  // namespace

std::optional<int64_t> RunsPerSide(double effect, double deviation,
                                   const PowerOptions& options) {
  return Needed(Design::kGroups, effect, deviation, options);
}

std::optional<int64_t> PairsNeeded(double effect, double deviation,
                                   const PowerOptions& options) {
  return Needed(Design::kPairs, effect, deviation, options);
}

std::optional<double> PowerOfRuns(int64_t n_per_side, double effect, double deviation,
                                  double alpha) {
  return PowerAt(Design::kGroups, n_per_side, effect, deviation, alpha);
}

std::optional<double> PowerOfPairs(int64_t pairs, double effect, double deviation,
                                   double alpha) {
  return PowerAt(Design::kPairs, pairs, effect, deviation, alpha);
}

std::optional<int64_t> MoreRunsToShrink(int64_t n, double shrink, double confidence) {
  if (n < 2 || !IsLevel(shrink) || !IsLevel(confidence)) return std::nullopt;
  const double wanted = shrink * HalfWidth(static_cast<double>(n), confidence);
  int64_t enough = n;
  while (HalfWidth(static_cast<double>(enough), confidence) > wanted) {
    if (static_cast<double>(enough) > kMostRuns) return std::nullopt;
    enough *= 2;
  }
  int64_t short_of = n;
  while (short_of + 1 < enough) {
    const int64_t middle = short_of + (enough - short_of) / 2;
    const bool fits = HalfWidth(static_cast<double>(middle), confidence) <= wanted;
    (fits ? enough : short_of) = middle;
  }
  return enough - n;
}

}  // namespace stepslack::stats

#include "stepslack/stats/multiple.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace stepslack::stats {
namespace {

double Checked(double p) { return p >= 0 && p <= 1 ? p : 1.0; }

std::vector<size_t> AscendingOrder(std::span<const double> p) {
  std::vector<size_t> order(p.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return Checked(p[a]) < Checked(p[b]); });
  return order;
}

// From the largest p down: the least factor(rank) * p so far, rank counted from 0.
template <typename Factor>
std::vector<double> StepUp(std::span<const double> p, Factor factor) {
  std::vector<double> adjusted(p.size());
  const std::vector<size_t> order = AscendingOrder(p);
  double running = 1;
  for (size_t i = order.size(); i-- > 0;) {
    running = std::min(running, factor(i) * Checked(p[order[i]]));
    adjusted[order[i]] = running;
  }
  return adjusted;
}

}  // namespace

std::vector<double> BonferroniAdjust(std::span<const double> p) {
  std::vector<double> adjusted;
  for (double value : p) {
    adjusted.push_back(std::min(1.0, static_cast<double>(p.size()) * Checked(value)));
  }
  return adjusted;
}

std::vector<double> HolmAdjust(std::span<const double> p) {
  std::vector<double> adjusted(p.size());
  const std::vector<size_t> order = AscendingOrder(p);
  double running = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    const double factor = static_cast<double>(order.size() - i);
    running = std::max(running, std::min(1.0, factor * Checked(p[order[i]])));
    adjusted[order[i]] = running;
  }
  return adjusted;
}

std::vector<double> HochbergAdjust(std::span<const double> p) {
  return StepUp(p, [&](size_t rank) { return static_cast<double>(p.size() - rank); });
}

std::vector<double> BenjaminiHochbergAdjust(std::span<const double> p) {
  const double count = static_cast<double>(p.size());
  return StepUp(p, [&](size_t rank) { return count / static_cast<double>(rank + 1); });
}

std::vector<double> BenjaminiYekutieliAdjust(std::span<const double> p) {
  double harmonic = 0;
  for (size_t i = 1; i <= p.size(); ++i) harmonic += 1 / static_cast<double>(i);
  const double count = static_cast<double>(p.size()) * harmonic;
  return StepUp(p, [&](size_t rank) { return count / static_cast<double>(rank + 1); });
}

double FamilyWiseError(double alpha, int tests) {
  return 1 - std::pow(1 - alpha, static_cast<double>(tests));
}

}  // namespace stepslack::stats

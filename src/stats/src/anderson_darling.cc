#include "stepslack/stats/anderson_darling.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "sample.h"
#include "split_permutation.h"

namespace stepslack::stats {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Pooled values in groups of equal ones.
struct Groups {
  std::vector<size_t> group_of;  // of each pooled value, x first
  std::vector<double> size;      // per group
};

Groups GroupEqual(std::span<const double> x, std::span<const double> y) {
  std::vector<double> pooled(x.begin(), x.end());
  pooled.insert(pooled.end(), y.begin(), y.end());
  std::vector<double> distinct = Sorted(pooled);
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  Groups groups;
  groups.size.assign(distinct.size(), 0);
  for (double v : pooled) {
    const auto at = static_cast<size_t>(
        std::lower_bound(distinct.begin(), distinct.end(), v) - distinct.begin());
    groups.group_of.push_back(at);
    groups.size[at] += 1;
  }
  return groups;
}

// Equation 7 of Scholz and Stephens for the sample of the values marked in `in_first`
// and its complement. With two samples N M_2j - B_j n_2 = -(N M_1j - B_j n_1), so one
// pass serves both.
double MidrankStatistic(const Groups& groups, const std::vector<bool>& in_first) {
  std::vector<double> first(groups.size.size(), 0);
  double n1 = 0;
  for (size_t i = 0; i < in_first.size(); ++i) {
    if (!in_first[i]) continue;
    first[groups.group_of[i]] += 1;
    n1 += 1;
  }
  const double all = static_cast<double>(in_first.size());
  const double n2 = all - n1;
  double below = 0;
  double below_first = 0;
  double sum = 0;
  for (size_t j = 0; j < groups.size.size(); ++j) {
    const double size = groups.size[j];
    const double b = below + size / 2;
    const double m = below_first + first[j] / 2;
    const double gap = all * m - b * n1;
    sum += size / all * gap * gap / (b * (all - b) - all * size / 4);
    below += size;
    below_first += first[j];
  }
  return (all - 1) / all * (sum / n1 + sum / n2);
}

// Standard deviation of A2kN for k = 2 samples (their equation 4).
double SigmaN(double n1, double n2) {
  const double k = 2;
  const double all = n1 + n2;
  const auto count = static_cast<int64_t>(all);
  const double inverse = 1 / n1 + 1 / n2;
  double h = 0;
  for (int64_t i = 1; i < count; ++i) h += 1 / static_cast<double>(i);
  double g = 0;
  double partial = 0;  // sum over l < i of 1 / (N - l)
  for (int64_t i = 1; i <= count - 2; ++i) {
    partial += 1 / (all - static_cast<double>(i));
    g += partial / static_cast<double>(i + 1);
  }
  const double a = (4 * g - 6) * (k - 1) + (10 - 6 * g) * inverse;
  const double b = (2 * g - 4) * k * k + 8 * h * k + (2 * g - 14 * h - 4) * inverse -
                   8 * h + 4 * g - 6;
  const double c = (6 * h + 2 * g - 2) * k * k + (4 * h - 4 * g + 6) * k +
                   (2 * h - 6) * inverse + 4 * h;
  const double d = (2 * h + 6) * k * k - 4 * h * k;
  const double variance = (a * all * all * all + b * all * all + c * all + d) /
                          ((all - 1) * (all - 2) * (all - 3));
  return std::sqrt(variance);
}

bool CanTest(std::span<const double> x, std::span<const double> y) {
  return !x.empty() && !y.empty() && AllFinite(x) && AllFinite(y) &&
         x.size() + y.size() >= 4;
}

}  // namespace

double AndersonDarlingStatistic(std::span<const double> x, std::span<const double> y) {
  if (!CanTest(x, y)) return kNan;
  const Groups groups = GroupEqual(x, y);
  if (groups.size.size() < 2) return kNan;
  std::vector<bool> in_first(x.size() + y.size(), false);
  std::fill_n(in_first.begin(), x.size(), true);
  const double sigma =
      SigmaN(static_cast<double>(x.size()), static_cast<double>(y.size()));
  return (MidrankStatistic(groups, in_first) - 1) / sigma;
}

TestResult AndersonDarlingTest(std::span<const double> x, std::span<const double> y,
                               const PermutationOptions& options) {
  TestResult result;
  const double observed = AndersonDarlingStatistic(x, y);
  if (std::isnan(observed)) {
    result.method = CanTest(x, y) ? "all values are equal"
                                  : "needs finite values, one a side and four in all";
    return result;
  }
  const Groups groups = GroupEqual(x, y);
  const double sigma =
      SigmaN(static_cast<double>(x.size()), static_cast<double>(y.size()));
  return SplitPermutationTest(
      x.size() + y.size(), x.size(),
      [&](const std::vector<bool>& in_first) {
        return (MidrankStatistic(groups, in_first) - 1) / sigma;
      },
      options, 4 * static_cast<double>(x.size() + y.size()),
      "Anderson-Darling, midranks, normalised; permutation");
}

}  // namespace stepslack::stats

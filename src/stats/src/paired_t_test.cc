#include <fmt/format.h>

#include <cmath>

#include "sample.h"
#include "stepslack/stats/distributions.h"
#include "stepslack/stats/paired_tests.h"

namespace stepslack::stats {

TestResult PairedTTest(std::span<const double> differences) {
  TestResult result;
  if (differences.size() < 2 || !AllFinite(differences)) {
    result.method = "needs two finite differences at least";
    return result;
  }
  const double n = static_cast<double>(differences.size());
  const double error = std::sqrt(Variance(differences) / n);
  if (error == 0) {
    result.method = "all differences are equal";
    return result;
  }
  const double t = Mean(differences) / error;
  result.statistic = t;
  result.p = StudentTwoSidedP(t, n - 1);
  result.method = fmt::format("paired t test, {} degrees of freedom", n - 1);
  return result;
}

}  // namespace stepslack::stats

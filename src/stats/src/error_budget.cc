#include "stepslack/stats/error_budget.h"

namespace stepslack::stats {

std::optional<ErrorBudget> ComputeErrorBudget(double slo, int64_t requests,
                                              int64_t bad) {
  if (!(slo > 0 && slo < 1) || requests < 1 || bad < 0 || bad > requests) {
    return std::nullopt;
  }
  const double n = static_cast<double>(requests);
  const double allowed = 1 - slo;
  ErrorBudget result;
  result.budget = allowed * n;
  result.spent_fraction = static_cast<double>(bad) / result.budget;
  result.burn_rate = static_cast<double>(bad) / n / allowed;
  return result;
}

}  // namespace stepslack::stats

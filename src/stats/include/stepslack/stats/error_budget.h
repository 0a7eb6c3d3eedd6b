// Service level objective over a window of requests.
#pragma once

#include <cstdint>
#include <optional>

namespace stepslack::stats {

struct ErrorBudget {
  double budget = 0;          // requests that may be bad: (1 - slo) n
  double spent_fraction = 0;  // bad / budget
  double burn_rate = 0;       // (bad / n) / (1 - slo): 1 spends it exactly
};

// Nothing unless 0 < slo < 1 and 0 <= bad <= requests, requests > 0. Over a whole
// window the spent fraction is the burn rate; over a part of it, scale `requests` of
// the budget to the window yourself.
std::optional<ErrorBudget> ComputeErrorBudget(double slo, int64_t requests,
                                              int64_t bad);

}  // namespace stepslack::stats

#include "explained_share.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "stepslack/base/text.h"

namespace stepslack::diagnose {
namespace {

std::optional<double> ValueOf(const std::string& fact, const Facts& facts,
                              std::vector<std::string>& missing) {
  const auto found = facts.find(fact);
  if (found != facts.end()) {
    const std::optional<double>& value = found->second.estimate.value;
    if (value && std::isfinite(*value)) return value;
  }
  missing.push_back(fact);
  return std::nullopt;
}

}  // namespace

ExplainedShare ComputeExplainedShare(const Cause& cause, const Facts& facts) {
  ExplainedShare result;
  if (cause.explains.empty()) return result;
  result.asked = true;
  const std::optional<double> part = ValueOf(cause.explains, facts, result.missing);
  std::optional<double> whole = 1.0;
  std::string formula = cause.explains;
  if (!cause.explains_of.empty()) {
    whole = ValueOf(cause.explains_of, facts, result.missing);
    formula += " / " + cause.explains_of;
  } else if (!cause.explains_of_lost.empty()) {
    whole = ValueOf(cause.explains_of_lost, facts, result.missing);
    if (whole) whole = 1.0 - *whole;
    formula += " / (1 - " + cause.explains_of_lost + ")";
  }
  if (!part || !whole) {
    result.sentence = fmt::format("explained share {} can not be computed: {} missing",
                                  formula, fmt::join(result.missing, ", "));
    return result;
  }
  if (*whole <= 0) {
    result.sentence =
        fmt::format("explained share {} can not be computed: nothing is lost", formula);
    return result;
  }
  result.share = std::clamp(*part / *whole, 0.0, 1.0);
  result.sentence =
      fmt::format("explained share {} = {}", formula, base::Human(*result.share));
  return result;
}

}  // namespace stepslack::diagnose

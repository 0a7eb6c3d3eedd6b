#include "explained_share.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

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

ExplainedShare Compute(const Explains& explains, const Facts& facts) {
  ExplainedShare result{.asked = true};
  const std::optional<double> part = ValueOf(explains.part, facts, result.missing);
  std::optional<double> whole = 1.0;
  std::string formula = explains.part;
  if (!explains.of.empty()) {
    whole = ValueOf(explains.of, facts, result.missing);
    formula += " / " + explains.of;
  } else if (!explains.of_lost.empty()) {
    whole = ValueOf(explains.of_lost, facts, result.missing);
    if (whole) whole = 1.0 - *whole;
    formula += " / (1 - " + explains.of_lost + ")";
  }
  const std::string name =
      fmt::format("explained share of {}: {}", explains.category, formula);
  if (!part || !whole) {
    result.sentence = fmt::format("{} can not be computed, {} not measured", name,
                                  fmt::join(result.missing, ", "));
  } else if (*whole <= 0) {
    result.sentence = name + " can not be computed, nothing is lost";
  } else {
    result.share = std::clamp(*part / *whole, 0.0, 1.0);
    result.sentence = fmt::format("{} = {}", name, base::Human(*result.share));
  }
  return result;
}

}  // namespace

ExplainedShare ComputeExplainedShare(const Cause& cause, const Facts& facts,
                                     const std::vector<std::string>& categories) {
  ExplainedShare best;
  for (const Explains& explains : cause.explains) {
    if (std::ranges::find(categories, explains.category) == categories.end()) continue;
    ExplainedShare candidate = Compute(explains, facts);
    if (!best.asked || candidate.share.value_or(-1) > best.share.value_or(-1)) {
      best = std::move(candidate);
    }
  }
  return best;
}

}  // namespace stepslack::diagnose

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "stepslack/base/text.h"
#include "stepslack/diagnose/catalogue.h"

namespace stepslack::diagnose {
namespace {

bool Compare(double left, Operator op, double right) {
  switch (op) {
    case Operator::kAbove:
      return left > right;
    case Operator::kBelow:
      return left < right;
    case Operator::kAtLeast:
      return left >= right;
    case Operator::kAtMost:
      return left <= right;
    case Operator::kEqual:
      return left == right;
  }
  return false;
}

PredicateState JudgeInterval(const Predicate& predicate, double low, double high) {
  const double value = predicate.value;
  if (predicate.op == Operator::kEqual) {
    if (low == value && high == value) return PredicateState::kHolds;
    return value < low || value > high ? PredicateState::kRefuted
                                       : PredicateState::kStraddles;
  }
  // The comparison is monotonic: what both ends satisfy, the whole interval satisfies.
  const bool at_low = Compare(low, predicate.op, value);
  const bool at_high = Compare(high, predicate.op, value);
  if (at_low && at_high) return PredicateState::kHolds;
  return at_low || at_high ? PredicateState::kStraddles : PredicateState::kRefuted;
}

}  // namespace

std::string_view ToString(Operator op) {
  switch (op) {
    case Operator::kAbove:
      return ">";
    case Operator::kBelow:
      return "<";
    case Operator::kAtLeast:
      return ">=";
    case Operator::kAtMost:
      return "<=";
    case Operator::kEqual:
      return "==";
  }
  return "?";
}

PredicateState Judge(const Predicate& predicate, const Facts& facts) {
  const auto found = facts.find(predicate.fact);
  if (found == facts.end()) return PredicateState::kMissing;
  const base::Estimate& estimate = found->second.estimate;
  if (!estimate.value || !std::isfinite(*estimate.value))
    return PredicateState::kMissing;
  if (!estimate.low || !estimate.high || std::isnan(*estimate.low) ||
      std::isnan(*estimate.high)) {
    return PredicateState::kStraddles;
  }
  return JudgeInterval(predicate, std::min(*estimate.low, *estimate.high),
                       std::max(*estimate.low, *estimate.high));
}

std::string Describe(const Predicate& predicate, PredicateState state,
                     const Facts& facts) {
  const std::string bound =
      fmt::format("{} {}", ToString(predicate.op), base::Human(predicate.value));
  const auto found = facts.find(predicate.fact);
  if (found == facts.end()) {
    return fmt::format("{} is not measured (needs {})", predicate.fact, bound);
  }
  const std::string measured =
      fmt::format("{} = {}", predicate.fact, base::Describe(found->second.estimate));
  switch (state) {
    case PredicateState::kHolds:
      return fmt::format("{} {}", measured, bound);
    case PredicateState::kRefuted:
      return fmt::format("{} is not {}", measured, bound);
    case PredicateState::kStraddles:
      return fmt::format("{} leaves {} open", measured, bound);
    case PredicateState::kMissing:
      break;
  }
  return fmt::format("{} (needs {})", measured, bound);
}

}  // namespace stepslack::diagnose

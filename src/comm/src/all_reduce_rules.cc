#include "all_reduce_rules.h"

#include "stepslack/base/text.h"

namespace stepslack::comm {

std::optional<AllReduceRules> AllReduceRules::Parse(std::string_view text) {
  AllReduceRules rules;
  if (text.empty()) return rules;
  if (const auto one = AllReduceAlgorithmFrom(text)) {
    rules.from_.emplace_back(0, *one);
    return rules;
  }
  for (const std::string_view rule : base::Split(text, ',')) {
    const size_t colon = rule.find(':');
    if (colon == std::string_view::npos) return std::nullopt;
    const auto bytes = base::ParseInt(rule.substr(0, colon));
    const auto algorithm = AllReduceAlgorithmFrom(rule.substr(colon + 1));
    if (!bytes || *bytes < 0 || !algorithm) return std::nullopt;
    const auto first = static_cast<size_t>(*bytes);
    const bool follows =
        rules.from_.empty() ? first == 0 : first > rules.from_.back().first;
    if (!follows) return std::nullopt;
    rules.from_.emplace_back(first, *algorithm);
  }
  return rules;
}

AllReduceAlgorithm AllReduceRules::For(int ranks, size_t bytes) const {
  if (from_.empty()) return UsualAllReduce(ranks, bytes);
  AllReduceAlgorithm found = from_.front().second;
  for (const auto& [first, algorithm] : from_) {
    if (bytes >= first) found = algorithm;
  }
  return found;
}

}  // namespace stepslack::comm

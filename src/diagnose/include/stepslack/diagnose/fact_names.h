// The vocabulary of a diagnosis: names of facts, and the kinds of requirement
// (categories) that a cause can explain. A catalogue that uses any other word is
// refused, because a misspelt fact would leave its cause undecided for ever without
// anybody noticing.
#pragma once

#include <span>
#include <string_view>

namespace stepslack::diagnose {

struct FactName {
  std::string_view name;
  std::string_view meaning;  // one line, with the unit
};

// Sorted by name. docs/causes.md shows the same list; a test compares them.
std::span<const FactName> KnownFacts();
bool IsKnownFact(std::string_view name);

// "quality", "efficiency", "exposed_comm", "time_to_accuracy", "latency", "leak",
// "reproducibility", "integrity".
std::span<const std::string_view> KnownCategories();
bool IsKnownCategory(std::string_view name);

// In tree order: "data", "model", "runtime", "hardware".
std::span<const std::string_view> Layers();

}  // namespace stepslack::diagnose

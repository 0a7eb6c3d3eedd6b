// The catalogue of causes, knowledge/causes.toml: data, not code, so that a user adds a
// cause without recompiling.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stepslack/base/result.h"
#include "stepslack/diagnose/facts.h"

namespace stepslack::diagnose {

enum class Operator { kAbove, kBelow, kAtLeast, kAtMost, kEqual };
std::string_view ToString(Operator op);  // ">", "<", ">=", "<=", "=="

struct Predicate {
  std::string fact;
  Operator op = Operator::kAbove;
  double value = 0;
};

enum class PredicateState { kHolds, kRefuted, kStraddles, kMissing };

// Compares the whole interval: holds when all of it satisfies the comparison, refuted
// when none of it does, else it straddles. A value without an interval straddles; a
// fact that is absent or has no finite value is missing.
PredicateState Judge(const Predicate& predicate, const Facts& facts);

// "split.leaked_rows = 3 (exact, n = 40 rows) > 0", "... is not > 0", "... straddles
// 0".
std::string Describe(const Predicate& predicate, PredicateState state,
                     const Facts& facts);

// The share of a loss that a cause explains, in [0, 1]: `part`, or `part` over `of`, or
// `part` over 1 - `of_lost`; all three are facts.
struct Explains {
  std::string
      category;  // the kind of metric that is lost, one of the cause's `affects`
  std::string part, of = {}, of_lost = {};
};

struct Cause {
  std::string id;     // "D07", unique
  std::string layer;  // one of Layers()
  std::string title;
  std::vector<std::string> affects;     // categories of requirements it can explain
  std::vector<Predicate> when;          // its signature: all must hold
  std::vector<Explains> explains = {};  // at most one for each category
  std::vector<std::string> competitors = {};  // ids
  std::string discriminating_test;
  std::string experiment;
  std::string fix;
  std::string owner;
};

struct Catalogue {
  std::vector<Cause> causes;  // in tree order; in file order within a layer
  const Cause* Find(std::string_view id) const;  // null when there is none
};

// Refused with file:line: bad TOML, an unknown key, layer, fact, category, comparison
// or competitor, an id given twice, a cause without signature (CONF-0001 to CONF-0004),
// no cause at all (DIAG-0001).
base::Result<Catalogue> ParseCatalogue(std::string_view text, std::string_view name);
base::Result<Catalogue> LoadCatalogue(const std::string& path);

}  // namespace stepslack::diagnose

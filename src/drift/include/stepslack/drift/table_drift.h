// Do two tables of samples come from the same distribution, feature by feature? Two
// gates, both needed: a permutation test in which whole groups (families, designs)
// change sides, adjusted over the features (Benjamini and Hochberg 1995), and the size
// of the difference in the feature's own unit against a margin.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stepslack/base/estimate.h"
#include "stepslack/base/result.h"
#include "stepslack/data/table.h"

namespace stepslack::drift {

struct DriftOptions {
  std::string group;            // column; empty: the column with that role
  double margin = 0.2;          // in robust standard deviations of the reference
  double share_margin = 0.05;   // of a total variation or a missing share
  double alpha = 0.05;          // false discovery rate
  double confidence = 0.95;     // of the intervals
  int64_t permutations = 4999;  // when there are too many to enumerate
  int64_t resamples = 1000;     // group bootstrap
  uint64_t seed = 1;
  int threads = 1;
};

enum class DriftKind { kNumber, kText, kMissingShare };
enum class DriftVerdict { kDrifted, kNoDrift, kInconclusive };

struct FeatureDrift {
  std::string name;    // "wirelength", or "wirelength (missing)"
  std::string column;  // "wirelength"
  DriftKind kind = DriftKind::kNumber;
  // Numbers: Wasserstein-1, in the column's unit. Text: total variation of the shares.
  // Missing: absolute difference of the shares.
  base::Estimate effect;
  // Current minus reference: of the medians, or of the missing shares. No value: text.
  base::Estimate shift;
  double margin = 0;  // in the unit of `effect`
  std::optional<double> p;
  std::optional<double> p_adjusted;
  int64_t reference_values = 0;  // present
  int64_t current_values = 0;
  DriftVerdict verdict = DriftVerdict::kInconclusive;
  std::string reason;
};

struct DriftReport {
  std::string group;  // column, "" when every row is a group
  int64_t reference_rows = 0;
  int64_t current_rows = 0;
  int64_t reference_groups = 0;  // in the reference only
  int64_t current_groups = 0;    // in the current table only
  int64_t shared_groups = 0;     // in both: their two parts change sides together
  double assignments = 0;        // of groups to sides that the null allows
  bool exact = false;            // all of them were computed
  double least_p = 1;            // smallest p that this many groups can give
  double alpha = 0.05;
  std::vector<FeatureDrift> features;
  std::vector<std::string> notes;  // what was left out, and why
  bool AnyDrift() const;
};

// The group of `kEveryRow` takes each row for itself: right only for independent rows.
inline constexpr std::string_view kEveryRow = "row";

// DRIFT-0001 no group named, DRIFT-0002 no such column or rows without a group,
// DRIFT-0003 a table without rows, DRIFT-0004 options, DRIFT-0005 no common feature.
// Numbers, texts, labels and features are compared; ids, groups, splits and ignored
// columns are not. Time O(values + permutations * occupied bins).
base::Result<DriftReport> CompareTables(const data::Table& reference,
                                        const data::Table& current,
                                        const DriftOptions& options);

std::string_view ToString(DriftVerdict verdict);  // "drifted", "no drift", ...
std::string_view ToString(DriftKind kind);        // "number", "text", "missing share"

}  // namespace stepslack::drift

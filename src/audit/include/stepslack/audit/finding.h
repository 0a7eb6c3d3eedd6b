// What an audit of a data set says: findings with their size, and the list of checks
// with what each of them concluded.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "stepslack/base/estimate.h"
#include "stepslack/base/json.h"

namespace stepslack::audit {

// The eight kinds of leakage of Kapoor and Narayanan, "Leakage and the reproducibility
// crisis in machine-learning-based science", Patterns 4(9), 2023.
namespace leakage {
constexpr const char* kNoTestSet = "L1.1 no test set";
constexpr const char* kPreprocessing = "L1.2 preprocessing on train and test";
constexpr const char* kFeatureSelection = "L1.3 feature selection on train and test";
constexpr const char* kDuplicates = "L1.4 duplicates";
constexpr const char* kIllegitimate = "L2 illegitimate features";
constexpr const char* kTemporal = "L3.1 temporal";
constexpr const char* kNonIndependence = "L3.2 non-independence between train and test";
constexpr const char* kSamplingBias = "L3.3 sampling bias";
}  // namespace leakage

// Most names and examples that a finding carries; `facts` holds the full counts.
constexpr size_t kMostExamples = 20;

struct Finding {
  std::string id;            // "exact_duplicates"; unique in a report
  std::string kind;          // the check that found it: "exact bytes", "group overlap"
  std::string leakage_type;  // one of namespace leakage; "" for faults of quality
  bool warning = false;      // a suspicion that a person has to judge
  std::vector<std::string> groups;    // leakage units it touches, at most kMostExamples
  int64_t rows = 0;                   // rows (maps, netlists) it touches
  double share = 0;                   // of the rows it could have touched, in [0, 1]
  std::string share_of;               // "test rows", "rows"
  std::vector<std::string> examples;  // at most kMostExamples
  // Exact counts, by name: "duplicate_groups", "largest_group".
  std::map<std::string, int64_t> facts;
  // Error of a reference learner on the test rows: all of them, those that this finding
  // leaves, and with whole groups held out. Absent values say why in `method`.
  std::optional<base::Estimate> metric_with;
  std::optional<base::Estimate> metric_without;
  std::optional<base::Estimate> metric_group_split;
  std::string metric_reason;  // why there is no metric; "" when there is
  std::string text;           // one or two sentences for people
};

enum class CheckVerdict { kPassed, kFinding, kWarning, kNotRun };
std::string_view ToString(
    CheckVerdict verdict);  // "passed", "finding", "warning", "not_run"

struct CheckResult {
  std::string id;
  CheckVerdict verdict = CheckVerdict::kNotRun;
  std::string reason;    // why it did not run, or what a pass rests on
  int64_t examined = 0;  // rows, pairs or columns that were looked at
};

base::Json ToJson(const Finding& finding);
base::Json ToJson(const CheckResult& check);

}  // namespace stepslack::audit

// Runs of a flow that will not end clean, told before an expensive stage: what would
// have been saved by stopping them, and what would have been lost.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stepslack/base/result.h"
#include "stepslack/data/table.h"

namespace stepslack::audit {

enum class RunOutcome { kClean, kDirty, kFailed, kUnknown };
std::string_view ToString(RunOutcome outcome);

struct DoomedOptions {
  std::string label;   // 0 clean, above 0 dirty, no value: failed
  std::string ran;     // a value here and none in `label`: unknown. "" : none is
  std::string before;  // first stage that is not known yet: "dr", or "dr_wl"
  std::string cost;    // seconds of that stage; no value: it was never reached
  std::string group;   // setting that is new when the rule is used
  // Prefixes of column names ("gp" for gp_wl) in the order of time. Columns without one
  // of these prefixes are no features; nor are run times (rt_), which tell the machine.
  std::vector<std::string> stages = {"k",  "syn", "fp", "gp", "po",
                                     "dp", "cts", "gr", "dr", "fi"};
  // Technology and tool version. A run with a combination that the training rows do not
  // have is not judged. Columns that are absent are skipped.
  std::vector<std::string> domain = {"platform", "technology", "scripts",
                                     "tool_version"};
  double cost_false_stop = 1;   // of stopping a run that would have ended clean
  double cost_missed_stop = 1;  // of letting a bad one go on
  double good_lost = 0.01;      // share of clean runs that may be stopped
  int folds = 5;
  int repeats = 5;  // assignments of groups to folds; that of the median AUC is shown
  uint64_t seed = 1;
  int threads = 1;
};

// What a rule did on runs that neither its model nor its threshold has seen.
struct StopRule {
  int64_t stopped = 0;
  int64_t good_stopped = 0;
  double good_lost = 0;        // share of the clean runs that were judged
  double hours_saved = 0;      // of all runs stopped
  double bad_hours_saved = 0;  // of those that would not have ended clean
};

struct DoomedSplit {
  std::string name;                   // "grouped by k_UTIL", "random rows"
  std::optional<double> auc;          // over all runs whose outcome is known
  std::optional<double> auc_reached;  // over those that reach the stage
  int64_t judged = 0;                 // reach the stage
  int64_t abstained = 0;              // unseen technology or tool version
  StopRule at_good_lost;              // threshold from a calibration fold
  StopRule at_costs;                  // p(bad) > c_FP / (c_FP + c_FN)
  std::string reason;                 // why there is no answer; "" when there is
  // Over the repeated assignments of groups to folds; few groups make it wide.
  double auc_low = 0;
  double auc_high = 0;
  double hours_low = 0;  // hours_saved of at_good_lost
  double hours_high = 0;
};

struct DoomedReport {
  int64_t clean = 0;
  int64_t dirty = 0;
  int64_t failed = 0;
  int64_t unknown = 0;      // left out of everything
  int64_t not_reached = 0;  // died earlier: learned from, but nothing to stop
  int64_t not_reached_bad = 0;
  // Cells of features by why they are empty.
  int64_t cells_empty = 0;
  int64_t cells_not_available = 0;
  int64_t cells_failed = 0;
  double hours = 0;      // of the stage, of runs with a known outcome
  double bad_hours = 0;  // of it on runs that did not end clean
  int64_t groups = 0;
  double threshold_at_costs = 0;
  std::vector<std::string> features;
  std::vector<std::string> left_out;  // columns, with the reason
  DoomedSplit grouped;
  DoomedSplit random;
  bool worthless = false;  // accurate, and hardly an hour is saved
  std::vector<std::string> warnings;
};

// PROBE-0001 a column is missing, PROBE-0002 no stage of that name, PROBE-0003 no
// feature before it, PROBE-0004 options, PROBE-0005 a label or cost of text.
base::Result<DoomedReport> JudgeDoomedRuns(const data::Table& table,
                                           const DoomedOptions& options);

// The rows that fulfil every condition of "COLUMN=TEXT,COLUMN=TEXT"; PROBE-0001.
base::Result<data::Table> RowsWhere(const data::Table& table,
                                    const std::string& conditions);

}  // namespace stepslack::audit

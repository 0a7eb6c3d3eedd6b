// Probes of a table of samples: do features, split and labels allow the claim that a
// model trained on them would make? Each probe gives one check, and a finding when it
// finds something. Where groups are known every score is of held-out groups.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "stepslack/audit/finding.h"
#include "stepslack/data/table.h"

namespace stepslack::audit {

struct ProbeOptions {
  std::string label;          // empty: the first column with that role
  std::string group;          // empty: the column with that role, else rows alone
  int decision_stage = -1;    // features of this stage or later are not known in time
  int64_t most_rows = 20000;  // learned from; more are thinned evenly, and it is said
  double alpha = 0.05;
  uint64_t seed = 1;
  int threads = 1;
};

struct ProbeReport {
  std::vector<Finding> findings;
  std::vector<CheckResult> checks;
};

// `split` has one number a row: -1 none, 0 train, 1 validation, 2 test; may be empty.
// Never fails: a probe that cannot run says why in its check.
//
// label_in_feature      one feature (or its missing flag) predicts the label: AUC >=
//                       0.995, or R2 >= 0.99
// later_than_decision   features of a stage that is not reached when it is decided
// statistics_on_all     mean 0 and deviation 1 over all rows and not over train
// order_predicts_label  row number or an id: AUC >= 0.75, or R2 >= 0.5
// split_classifier      AUC of telling test from train, against whole groups relabelled
// conflicting_labels    equal features (6 digits), unequal labels
// misaligned_labels     labels moved by a row fit better: by 0.1 of R2 or AUC
// label_outliers        residual beyond 8 robust deviations, or sure and wrong
// class_balance         a class or the highest decile that a part hardly has
// worst_slices          error of a slice, over group means, Welch with Holm's
// correction coverage              test rows outside the range, or far from any row, of
// train
ProbeReport RunProbes(const data::Table& table, const std::vector<int>& split,
                      const ProbeOptions& options);

}  // namespace stepslack::audit

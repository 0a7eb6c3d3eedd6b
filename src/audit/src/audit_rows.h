// What the layers of a table's audit share: roles, names and parts of its rows.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stepslack/audit/data_audit.h"
#include "stepslack/audit/duplicate_search.h"
#include "stepslack/data/split_file.h"

namespace stepslack::audit {

enum Part : int { kNoPart = -1, kTrain = 0, kValidation = 1, kTest = 2 };

struct AuditRows {
  const data::Table* table = nullptr;
  const AuditOptions* options = nullptr;
  std::optional<size_t> id, group, label, content;  // columns
  std::vector<int64_t> group_of;                    // by row; empty without groups
  std::vector<std::string> group_names;
  std::vector<int> part;  // by row; empty without a split
  // Groups of samples that the split names and the table lacks, by part: what stands
  // before the first "_" of their names.
  std::map<int, std::vector<std::string>> foreign_groups;
  std::vector<int64_t> features;  // columns that a model would see

  std::string Name(int64_t row) const;  // id, else "row 17"
  std::string GroupName(int64_t row) const;
  bool divided() const { return !part.empty(); }
};

base::Result<AuditRows> PrepareRows(const data::Table& table,
                                    const AuditOptions& options, DataAudit& audit);

// Part of every name, by the names of a split file; names may lack an ending that the
// file writes (".npy"). AUDIT-0011.
base::Result<std::vector<int>> PartsOf(const std::vector<std::string>& names,
                                       const data::SplitFile& split,
                                       const std::string& file,
                                       std::map<int, std::vector<std::string>>& foreign,
                                       std::vector<std::string>& notes);

// A random test part of that share; a function of seed and number of rows.
std::vector<int> RandomParts(int64_t rows, double test_share, uint64_t seed);

// Adds `finding` and its check, or a passed check.
void Report(DataAudit& audit, const std::string& id, std::optional<Finding> finding,
            std::string reason, int64_t examined);
void ReportNotRun(DataAudit& audit, const std::string& id, std::string reason);

// Test rows that have a twin in train, by row; the twins by `groups`.
std::vector<int64_t> TestRowsWithTwin(const DuplicateGroups& groups,
                                      std::span<const int> part);

// Names of groups of these rows, at most kMostExamples.
std::vector<std::string> GroupsOf(const AuditRows& rows,
                                  std::span<const int64_t> which);
std::vector<std::string> Names(const AuditRows& rows, std::span<const int64_t> which);

// The layers. Each reports one check or more.
void AuditDuplicates(const AuditRows& rows, DataAudit& audit);
void AuditNearRows(const AuditRows& rows, DataAudit& audit);
void AuditGroups(const AuditRows& rows, DataAudit& audit);
void AuditDistances(const AuditRows& rows, DataAudit& audit);

// Error of a boosted-tree reference on the rows of test, on those without `leaked`, and
// with whole groups held out; or the reason why there is none.
void Measure(const AuditRows& rows, std::span<const int> part,
             std::span<const int64_t> leaked, Finding& finding);

}  // namespace stepslack::audit

// The audit of a data set: tables of samples and folders of labelled maps. Checks run
// in layers, exact ones first; each gives a verdict, and a finding with its size when
// there is something to find. docs/audit.md says what each of them does.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "stepslack/audit/finding.h"
#include "stepslack/base/result.h"
#include "stepslack/data/map_collection.h"
#include "stepslack/data/table.h"

namespace stepslack::audit {

struct AuditOptions {
  std::string split;        // file or folder of lists; empty: none
  std::string group;        // column; empty: the one with that role
  std::string label;        // column; empty: the one with that role
  std::string schema;       // dataset.toml
  uint64_t seed = 1;        // of the random split that stands in for a missing one
  double test_share = 0.2;  // of that split
  double tolerance = 1e-3;  // of near rows: relative, a cell
  int threads = 1;          // never changes the result
  bool rebuild = false;     // run the stages of lineage.json again
  // Files above this are read in pieces: exact duplicates only, in bounded memory.
  int64_t most_bytes = int64_t{1} << 30;
};

struct DataAudit {
  std::string source;
  std::string kind;  // "table" or "maps"
  int64_t rows = 0;  // maps of a folder
  int64_t groups = 0;
  std::string group_column;
  std::string label_column;
  std::string split;  // what divides the rows, in words
  std::vector<Finding> findings;
  // Properties of the data that no split can mend and a reader should know: outliers,
  // rare classes, hard slices, test rows outside of the range of train.
  std::vector<Finding> warnings;
  std::vector<CheckResult> checks;
  std::vector<std::string> notes;

  bool HasFinding() const { return !findings.empty(); }
};

// What reading says (DATA-*, REC-*), AUDIT-0010 a column that is not there, AUDIT-0011
// no row is named in the split.
base::Result<DataAudit> AuditData(const std::string& path, const AuditOptions& options);

base::Result<DataAudit> AuditTable(const data::Table& table,
                                   const AuditOptions& options);
// Exact duplicates of tables of any size, in memory of about half a gibibyte: rows are
// known by a 64-bit hash, so two different ones among n are taken for equal with
// probability n^2 / 2^65.
base::Result<DataAudit> AuditInPieces(const std::string& path,
                                      const AuditOptions& options);
base::Result<DataAudit> AuditMaps(const data::MapCollection& maps,
                                  const AuditOptions& options);

base::Json ToJson(const DataAudit& audit);  // "stepslack.data_audit/1"
std::string Describe(const DataAudit& audit);

}  // namespace stepslack::audit

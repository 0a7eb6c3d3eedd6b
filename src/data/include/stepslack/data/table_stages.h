// Stages of a table's life that leave a folder behind: the tables, dataset.toml that
// says how to read them, and lineage.json (stages with parameters, SHA-256 of inputs
// and outputs, counts, version of the program). A stage that reads such a folder goes
// on with its lineage.
#pragma once

#include <string>
#include <vector>

#include "stepslack/base/json.h"
#include "stepslack/base/result.h"
#include "stepslack/data/table.h"
#include "stepslack/data/table_clean.h"

namespace stepslack::data {

struct StageOptions {
  std::string path;     // table, or folder of tables
  std::string schema;   // as TableOptions::schema
  std::string out;      // folder; must not exist or be empty (DATA-0352)
  std::string version;  // of the program, for the lineage
};

// table.csv: the same values, in one file, with kinds, units and roles declared.
base::Result<Table> IngestTable(const StageOptions& options);

// clean.csv, quarantine.csv (with the column `rules`). The rules of the file, then the
// bounds of the schema. DATA-0353 the table has a column `rules` already.
base::Result<TableCleaning> CleanTableFile(const StageOptions& options,
                                           const std::string& rules_file);

// One stage, run again from what it read.
struct RebuiltStage {
  std::string name;
  std::string recorded;  // digest of its output
  std::string rebuilt;   // "" when it could not be run
  std::string reason;    // why they differ: an input has changed, or cannot be read
  bool same() const { return recorded == rebuilt; }
};
struct Rebuild {
  std::vector<RebuiltStage> stages;
  std::string first_different;  // name; "" when all are the same
};
// Runs the stages of `folder`/lineage.json again, in memory, and compares digests;
// paths are tried as they were given, then inside of `folder`. DATA-0354 no lineage, or
// one of another program.
base::Result<Rebuild> RebuildLineage(const std::string& folder);

base::Json ToJson(const Rebuild& rebuild);
std::string Describe(const Rebuild& rebuild);

}  // namespace stepslack::data

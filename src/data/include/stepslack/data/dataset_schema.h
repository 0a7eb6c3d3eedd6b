// dataset.toml: what the columns of a table mean. An unknown key is refused with its
// line (CONF-0002).
//
//   decision = "gp_"                 # the model is asked once this stage is done
//   stages = ["k_", "syn_", "gp_"]   # prefixes of column names, in order of time
//   files = ["part-0.csv"]           # of a folder; absent: all tables in it
//   [[columns]]
//   name = "wc_delay"                # "rt_*" stands for all that start with rt_
//   unit = "ns"
//   role = "label"                   # feature label id group time split ignored
//   stage = "syn_"                   # instead of the one its name starts with
//   kind = "number"                  # or text
//   low = 0.0                        # range; used by `data clean`
//   high = 100.0
//   missing = ["-1"]                 # further spellings of "not available"
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stepslack/base/result.h"
#include "stepslack/data/table.h"

namespace stepslack::data {

struct ColumnSchema {
  std::string name;
  std::string unit;
  std::optional<ColumnRole> role;
  std::optional<ColumnKind> kind;
  int stage = -1;
  std::optional<double> low;
  std::optional<double> high;
  std::vector<std::string> missing;

  bool Matches(std::string_view column) const;
};

struct DatasetSchema {
  std::string file;
  std::vector<std::string> stages;  // prefixes
  int decision_stage = -1;          // position in `stages`; -1: not said
  std::vector<std::string> files;
  std::vector<ColumnSchema> columns;

  // The declaration of a column: an exact name before a pattern; or null.
  const ColumnSchema* Find(std::string_view column) const;
  // Stage by declaration, else by the longest prefix; -1 for none.
  int StageOf(std::string_view column) const;
};

base::Result<DatasetSchema> ParseSchema(std::string_view text, std::string_view name);
base::Result<DatasetSchema> LoadSchema(const std::string& path);
// dataset.toml in the folder `path`, or beside the file `path`; no value when there is
// none.
base::Result<std::optional<DatasetSchema>> FindSchema(const std::string& path);

std::optional<ColumnRole> ParseRole(std::string_view text);
// By the usual names: family -> group, wc_label -> label ...; no value: a feature.
std::optional<ColumnRole> GuessRole(std::string_view column);

// Sets unit, role and stage of every column; guesses are noted. DATA-0316 the schema
// names a column that is not there.
base::Status ApplySchema(const std::optional<DatasetSchema>& schema, Table& layout);

}  // namespace stepslack::data

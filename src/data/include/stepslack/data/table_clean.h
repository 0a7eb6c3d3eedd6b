// Declared cleaning rules for tables. A row that breaks one goes to quarantine with the
// names of the rules; nothing is deleted and nothing is changed.
//
//   [[rule]]
//   kind = "range"        # not_null, unique, matches, unit_jump, conflict
//   column = "wc_delay"   # unique: "*" is the whole row; conflict: the label
//   low = 0.0             # range: bounds that are still allowed, one at least
//   high = 100.0
//   pattern = "u_*"       # matches: * any text, ? one character
//   ignore = ["run"]      # conflict: features that do not count
//   id = "delay_range"    # else kind:column
//
// A missing cell breaks not_null only. unique keeps the first row. conflict takes all
// rows with equal features and more than one label. unit_jump: log10 of the size lies
// farther than max(1.5, 5 s) from the median, and within max(0.5, 3 s) of it once a
// power of a thousand is taken away (s = 1.4826 median absolute deviation).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stepslack/base/json.h"
#include "stepslack/base/result.h"
#include "stepslack/data/dataset_schema.h"
#include "stepslack/data/table.h"

namespace stepslack::data {

struct TableRule {
  std::string id;
  std::string kind;
  std::string column;
  std::optional<double> low;
  std::optional<double> high;
  std::string pattern;
  std::vector<std::string> ignore;
};

// CONF-000x, DATA-0350 no rules, two with one id, or a rule without its bounds.
base::Result<std::vector<TableRule>> ParseRules(std::string_view text,
                                                std::string_view name);
// Of the columns with low or high in dataset.toml: range rules "schema:COLUMN".
std::vector<TableRule> RulesOf(const DatasetSchema& schema, const Table& table);

struct TableRuleFinding {
  TableRule rule;
  int64_t count = 0;
  std::vector<std::string> examples;  // "row 12: 4100 (x1000: ps for ns?)"; 5 at most
};

struct TableCleaning {
  std::vector<TableRuleFinding> rules;
  std::vector<int64_t> kept;         // rows, in order
  std::vector<int64_t> quarantined;  // rows, in order
  std::vector<std::string> broken;   // of each quarantined row: ids joined by ";"
};

// DATA-0340 a rule names no column of the table, DATA-0351 a rule for numbers names a
// column of text.
base::Result<TableCleaning> CleanTable(const Table& table,
                                       const std::vector<TableRule>& rules);

// "x1000: ps for ns?"; `power` is that of ten, `unit` that of the column, or "".
std::string NameUnitJump(int power, std::string_view unit);

base::Json ToJson(const TableCleaning& cleaning);
std::string Describe(const TableCleaning& cleaning);

}  // namespace stepslack::data

// What differs between two versions of a table.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "stepslack/base/json.h"
#include "stepslack/base/result.h"
#include "stepslack/data/table.h"

namespace stepslack::data {

struct ColumnChange {
  std::string name;
  int64_t changed = 0;       // cells of rows that are in both
  double largest = 0;        // largest absolute difference of two numbers, in its unit
  int64_t gone_missing = 0;  // had a value in A only
  int64_t filled = 0;        // has a value in B only
  std::string example;       // "7: 2.5 -> 2500"; of the largest difference
};

struct TableDiff {
  std::string a, b;
  int64_t rows_a = 0, rows_b = 0;
  // Columns of one side only; another kind, unit or role; another order.
  std::vector<std::string> schema;
  std::string key;  // column; "" when rows were compared by their content
  int64_t added = 0, removed = 0, changed = 0, equal = 0;
  std::vector<std::string> added_examples;  // keys, or rows of B; 5 at most
  std::vector<std::string> removed_examples;
  std::vector<ColumnChange> columns;  // those with a change
  bool same() const {
    return schema.empty() && added == 0 && removed == 0 && changed == 0;
  }
};

// Rows are matched by `key` (a column, or several: "design,recipe"), else by the id
// column that both have, else by the content of the columns that both have, counted
// with multiplicity (then nothing is "changed"). The order of rows does not matter.
// DATA-0340 no such key, DATA-0341 keys that occur twice or are missing.
base::Result<TableDiff> DiffTables(const Table& a, const Table& b,
                                   std::string_view key = {});

base::Json ToJson(const TableDiff& diff);
std::string Describe(const TableDiff& diff);

}  // namespace stepslack::data

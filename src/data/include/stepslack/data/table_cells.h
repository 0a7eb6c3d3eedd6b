// Cells of a table as text, the way that files and reports write them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "stepslack/base/result.h"
#include "stepslack/data/table.h"

namespace stepslack::data {

inline Missing MissingAt(const Column& column, int64_t row) {
  return column.missing.empty() ? Missing::kPresent
                                : column.missing[static_cast<size_t>(row)];
}
// "present", "empty", "not available", "failed", "invalid".
std::string_view ToString(Missing missing);

// Text as it was read; a number in its shortest form, or "", "N/A", "ERR" and "nan" for
// its kind of missing.
std::string CellText(const Column& column, int64_t row);

// At most `bytes` of UTF-8 text, cut between characters.
std::string Shortened(std::string_view text, size_t bytes);

// One cell more on the line `out`, quoted where RFC 4180 asks for it.
void AppendCsvCell(std::string_view text, bool first, std::string& out);
// The header and those rows; `extra` adds a last column of that name.
std::string CsvOf(const Table& table, const std::vector<int64_t>& rows,
                  std::string_view extra_name = {},
                  const std::vector<std::string>& extra = {});

// The column of that name, or the first with the role when `name` is empty; null when
// no column has it. DATA-0340 no column of that name.
base::Result<const Column*> ChooseColumn(const Table& table, std::string_view name,
                                         ColumnRole role);

// The id of every row: of the column (or columns, "design,recipe"), else of the id
// column, else the number of the row from 0. DATA-0341 an id is missing or occurs
// twice.
struct RowIds {
  std::string column;  // "" for row numbers
  std::vector<std::string> ids;
};
base::Result<RowIds> IdsOf(const Table& table, std::string_view column = {});

}  // namespace stepslack::data

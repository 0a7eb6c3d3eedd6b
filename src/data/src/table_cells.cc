#include "stepslack/data/table_cells.h"

#include <fmt/format.h>

#include <unordered_set>

#include "stepslack/base/text.h"

namespace stepslack::data {

using base::ExitCode;
using base::Fail;

std::string_view ToString(Missing missing) {
  switch (missing) {
    case Missing::kPresent:
      return "present";
    case Missing::kEmpty:
      return "empty";
    case Missing::kNotAvailable:
      return "not available";
    case Missing::kFailed:
      return "failed";
    case Missing::kInvalid:
      return "invalid";
  }
  return "invalid";
}

std::string CellText(const Column& column, int64_t row) {
  const auto at = static_cast<size_t>(row);
  if (column.kind == ColumnKind::kText) return column.texts[column.codes[at]];
  switch (MissingAt(column, row)) {
    case Missing::kPresent:
      return fmt::format("{}", column.numbers[at]);
    case Missing::kEmpty:
      return "";
    case Missing::kNotAvailable:
      return "N/A";
    case Missing::kFailed:
      return "ERR";
    case Missing::kInvalid:
      return "nan";
  }
  return "";
}

std::string Shortened(std::string_view text, size_t bytes) {
  if (text.size() <= bytes) return std::string(text);
  while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xC0U) == 0x80U)
    --bytes;
  return std::string(text.substr(0, bytes));
}

void AppendCsvCell(std::string_view text, bool first, std::string& out) {
  if (!first) out += ',';
  if (text.find_first_of(",;\t\"\r\n") == std::string_view::npos) {
    out += text;
    return;
  }
  out += '"';
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  out += '"';
}

std::string CsvOf(const Table& table, const std::vector<int64_t>& rows,
                  std::string_view extra_name, const std::vector<std::string>& extra) {
  std::string out;
  for (const Column& column : table.columns) {
    AppendCsvCell(column.name, &column == table.columns.data(), out);
  }
  if (!extra_name.empty()) AppendCsvCell(extra_name, table.columns.empty(), out);
  out += '\n';
  for (size_t i = 0; i < rows.size(); ++i) {
    for (const Column& column : table.columns) {
      AppendCsvCell(CellText(column, rows[i]), &column == table.columns.data(), out);
    }
    if (!extra_name.empty()) AppendCsvCell(extra[i], table.columns.empty(), out);
    // A line with nothing on it would be skipped by readers.
    if (out.back() == '\n') out += "\"\"";
    out += '\n';
  }
  return out;
}

base::Result<const Column*> ChooseColumn(const Table& table, std::string_view name,
                                         ColumnRole role) {
  if (name.empty()) {
    const auto found = table.WithRole(role);
    return found.empty() ? nullptr : &table.columns[static_cast<size_t>(found[0])];
  }
  if (const Column* column = table.Find(name); column != nullptr) return column;
  std::vector<std::string> names;
  for (const Column& column : table.columns) names.push_back(column.name);
  const std::string near = base::DidYouMean(name, names);
  return Fail("DATA-0340", ExitCode::kUsage,
              fmt::format("there is no column \"{}\"", name), table.source,
              near.empty() ? fmt::format("its columns are {}", fmt::join(names, ", "))
                           : fmt::format("did you mean \"{}\"?", near));
}

base::Result<RowIds> IdsOf(const Table& table, std::string_view column) {
  std::vector<const Column*> parts;
  if (column.empty() || table.Find(column) != nullptr) {
    SS_TRY(const Column* const id, ChooseColumn(table, column, ColumnRole::kId));
    if (id != nullptr) parts.push_back(id);
  } else {
    for (const std::string_view name : base::Split(column, ',')) {
      SS_TRY(const Column* const id, ChooseColumn(table, name, ColumnRole::kId));
      if (id != nullptr) parts.push_back(id);
    }
  }
  RowIds out;
  for (const Column* part : parts) {
    out.column += (out.column.empty() ? "" : ",") + part->name;
  }
  std::unordered_set<std::string> seen;
  int64_t bad = 0, first = 0;
  for (int64_t row = 0; row < table.rows; ++row) {
    std::string id = parts.empty() ? std::to_string(row) : "";
    bool missing = false;
    for (const Column* part : parts) {
      id += (part == parts[0] ? "" : ",") + CellText(*part, row);
      missing = missing || MissingAt(*part, row) != Missing::kPresent;
    }
    out.ids.push_back(id);
    if (seen.insert(std::move(id)).second && !missing) continue;
    if (bad++ == 0) first = row;
  }
  if (bad == 0) return out;
  return Fail(
      "DATA-0341", ExitCode::kInput,
      fmt::format("{} rows have no id of their own; the first is row {} with \"{}\"",
                  bad, first, out.ids[static_cast<size_t>(first)]),
      fmt::format("{}, column {}", table.source, out.column),
      "quarantine them with `data clean` (rule unique), or give the column another "
      "role in dataset.toml");
}

}  // namespace stepslack::data

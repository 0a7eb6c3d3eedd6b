#include "stepslack/eda/qor_table.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "stepslack/base/file.h"
#include "stepslack/base/text.h"

namespace stepslack::eda {
namespace {

data::ColumnRole RoleOf(const std::string& name) {
  static const std::set<std::string, std::less<>> kLabels = {
      "area", "cells", "wc_delay", "tns10", "n_end"};
  if (kLabels.contains(name)) return data::ColumnRole::kLabel;
  if (name == "family" || name == "design") return data::ColumnRole::kGroup;
  if (name == "status" || name == "stage" || name.starts_with("t_")) {
    return data::ColumnRole::kIgnored;
  }
  return data::ColumnRole::kFeature;
}

// An empty column holds no number either: text.
bool IsNumber(const std::vector<std::string_view>& cells) {
  bool any = false;
  for (const std::string_view cell : cells) {
    if (cell.empty()) continue;
    if (!base::ParseDouble(cell)) return false;
    any = true;
  }
  return any;
}

data::Column MakeColumn(std::string_view name,
                        const std::vector<std::string_view>& cells) {
  data::Column column;
  column.name = std::string(name);
  column.role = RoleOf(column.name);
  if (IsNumber(cells)) {
    for (const std::string_view cell : cells) {
      column.numbers.push_back(
          base::ParseDouble(cell).value_or(std::numeric_limits<double>::quiet_NaN()));
    }
    return column;
  }
  column.kind = data::ColumnKind::kText;
  std::map<std::string_view, uint32_t> known;
  for (const std::string_view cell : cells) {
    const auto [at, added] =
        known.try_emplace(cell, static_cast<uint32_t>(known.size()));
    if (added) column.texts.emplace_back(cell);
    column.codes.push_back(at->second);
  }
  return column;
}

}  // namespace

base::Result<data::Table> ReadQorTable(const std::string& path) {
  const std::string file =
      base::IsFolder(path) ? base::JoinPath(path, "qor.csv") : path;
  SS_TRY(const std::string text, base::ReadMaybeGzip(file));
  std::vector<std::string_view> header;
  std::vector<std::vector<std::string_view>> columns;
  data::Table table;
  table.source = file;
  int64_t number = 0;
  for (const std::string_view line : base::Split(text, '\n')) {
    ++number;
    if (base::Trim(line).empty()) continue;
    auto cells = base::Split(line, ',');
    for (std::string_view& cell : cells) cell = base::Trim(cell);
    if (header.empty()) {
      header = std::move(cells);
      columns.resize(header.size());
      continue;
    }
    if (cells.size() != header.size()) {
      return base::Fail(
          "EDA-0112", base::ExitCode::kInput,
          fmt::format("a row has {} cells, the header {}", cells.size(), header.size()),
          fmt::format("{}:{}", file, number), "give a whole table without quotes");
    }
    for (size_t i = 0; i < cells.size(); ++i) columns[i].push_back(cells[i]);
    ++table.rows;
  }
  for (size_t i = 0; i < header.size(); ++i) {
    table.columns.push_back(MakeColumn(header[i], columns[i]));
  }
  return table;
}

}  // namespace stepslack::eda

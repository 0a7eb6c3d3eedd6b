#include "stepslack/data/table_clean.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <unordered_map>

#include "stepslack/data/table_cells.h"

namespace stepslack::data {
namespace {

using base::ExitCode;
using base::Fail;

constexpr size_t kExamples = 5;

// What a rule says about a row that breaks it: row to a remark, which may be "".
using Touched = std::map<int64_t, std::string>;

// Glob: * any text, ? one byte. Linear in practice, quadratic at worst.
bool Matches(std::string_view text, std::string_view pattern) {
  size_t t = 0, p = 0, star = std::string_view::npos, from = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      from = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++t;
      ++p;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++from;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

double MedianOf(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<int64_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

Touched UnitJumps(const Table& table, const Column& column) {
  std::vector<double> sizes;
  std::vector<int64_t> rows;
  for (int64_t row = 0; row < table.rows; ++row) {
    const double value = column.numbers[static_cast<size_t>(row)];
    if (MissingAt(column, row) != Missing::kPresent || value == 0) continue;
    sizes.push_back(std::log10(std::fabs(value)));
    rows.push_back(row);
  }
  Touched touched;
  if (sizes.empty()) return touched;
  const double median = MedianOf(sizes);
  std::vector<double> distances;
  for (const double size : sizes) distances.push_back(std::fabs(size - median));
  const double spread = 1.4826 * MedianOf(distances);
  for (size_t i = 0; i < sizes.size(); ++i) {
    const double jump = sizes[i] - median;
    if (std::fabs(jump) <= std::max(1.5, 5 * spread)) continue;
    const int power = 3 * static_cast<int>(std::lround(jump / 3));
    if (power == 0 || std::fabs(jump - power) > std::max(0.5, 3 * spread)) continue;
    touched[rows[i]] = NameUnitJump(power, column.unit);
  }
  return touched;
}

Touched Repeats(const Table& table, const Column* column) {
  std::unordered_map<std::string, int64_t> first;
  Touched touched;
  for (int64_t row = 0; row < table.rows; ++row) {
    std::string key;
    if (column != nullptr) {
      if (MissingAt(*column, row) != Missing::kPresent) continue;
      key = CellText(*column, row);
    } else {
      for (const Column& one : table.columns)
        AppendCsvCell(CellText(one, row), false, key);
    }
    const auto [found, fresh] = first.try_emplace(std::move(key), row);
    if (!fresh) touched[row] = fmt::format("as row {}", found->second);
  }
  return touched;
}

Touched Conflicts(const Table& table, const Column& label, const TableRule& rule) {
  std::unordered_map<std::string, std::vector<int64_t>> twins;
  for (int64_t row = 0; row < table.rows; ++row) {
    if (MissingAt(label, row) != Missing::kPresent) continue;
    std::string key;
    for (const Column& one : table.columns) {
      if (one.role != ColumnRole::kFeature || &one == &label) continue;
      if (std::ranges::count(rule.ignore, one.name) > 0) continue;
      AppendCsvCell(CellText(one, row), false, key);
    }
    twins[std::move(key)].push_back(row);
  }
  Touched touched;
  for (const auto& [key, rows] : twins) {
    std::set<std::string> labels;
    for (const int64_t row : rows) labels.insert(CellText(label, row));
    if (labels.size() < 2) continue;
    for (const int64_t row : rows) {
      touched[row] = fmt::format("{} labels for the features of row {}", labels.size(),
                                 rows.front());
    }
  }
  return touched;
}

Touched Cells(const Table& table, const Column& column, const TableRule& rule) {
  Touched touched;
  for (int64_t row = 0; row < table.rows; ++row) {
    const Missing missing = MissingAt(column, row);
    if (missing != Missing::kPresent) {
      if (rule.kind == "not_null") touched[row] = ToString(missing);
      continue;
    }
    if (rule.kind == "range") {
      const double value = column.numbers[static_cast<size_t>(row)];
      if (rule.low && value < *rule.low) touched[row] = "too low";
      if (rule.high && value > *rule.high) touched[row] = "too high";
    } else if (rule.kind == "matches") {
      if (!Matches(CellText(column, row), rule.pattern)) touched[row] = "";
    }
  }
  return touched;
}

base::Result<Touched> Apply(const Table& table, const TableRule& rule) {
  if (rule.kind == "unique" && rule.column == "*") return Repeats(table, nullptr);
  SS_TRY(const Column* const column,
         ChooseColumn(table, rule.column, ColumnRole::kLabel));
  for (const std::string& name : rule.ignore) {
    SS_RETURN_IF_ERROR(ChooseColumn(table, name, ColumnRole::kFeature));
  }
  const bool numbers = rule.kind == "range" || rule.kind == "unit_jump";
  if (column == nullptr || (numbers && column->kind != ColumnKind::kNumber)) {
    return Fail("DATA-0351", ExitCode::kUsage,
                fmt::format("the rule {} needs a column of numbers, but \"{}\" is text",
                            rule.id, rule.column),
                table.source, "see `data show`; name another column");
  }
  if (rule.kind == "unit_jump") return UnitJumps(table, *column);
  if (rule.kind == "unique") return Repeats(table, column);
  if (rule.kind == "conflict") return Conflicts(table, *column, rule);
  return Cells(table, *column, rule);
}

std::string ExampleOf(const Table& table, const TableRule& rule, int64_t row,
                      const std::string& remark) {
  const Column* column = table.Find(rule.column);
  return fmt::format("row {}: {}{}", row,
                     column == nullptr ? "" : Shortened(CellText(*column, row), 60),
                     remark.empty() ? "" : " (" + remark + ")");
}

}  // namespace

std::string NameUnitJump(int power, std::string_view unit) {
  // Powers of a thousand of one base unit, the largest first.
  static constexpr std::string_view kPrefixes[] = {"G", "M", "k", "",  "m",
                                                   "u", "n", "p", "f", "a"};
  const std::string factor =
      power > 0
          ? fmt::format("x1{}", std::string(static_cast<size_t>(power), '0'))
          : fmt::format("x0.{}1", std::string(static_cast<size_t>(-power - 1), '0'));
  const bool known = !unit.empty() && std::string_view("sVAmWFHz").find(unit.back()) !=
                                          std::string_view::npos;
  const std::string_view base_unit =
      unit.ends_with("Hz") ? "Hz" : unit.substr(known ? unit.size() - 1 : 0);
  if (known && unit.size() - base_unit.size() <= 1) {
    const auto prefix = unit.substr(0, unit.size() - base_unit.size());
    const auto at = std::ranges::find(kPrefixes, prefix) - std::begin(kPrefixes);
    const auto meant = at + power / 3;
    if (at < std::ssize(kPrefixes) && meant >= 0 && meant < std::ssize(kPrefixes)) {
      return fmt::format("{}: {}{}{} for {}?", factor, kPrefixes[meant], base_unit,
                         unit == "um" && power == 3 ? " or dbu" : "", unit);
    }
  }
  return fmt::format("{}: a {} unit?", factor, power > 0 ? "smaller" : "larger");
}

base::Result<TableCleaning> CleanTable(const Table& table,
                                       const std::vector<TableRule>& rules) {
  TableCleaning out;
  std::map<int64_t, std::string> broken;
  for (const TableRule& rule : rules) {
    SS_TRY(const Touched touched, Apply(table, rule));
    TableRuleFinding& finding = out.rules.emplace_back();
    finding.rule = rule;
    finding.count = static_cast<int64_t>(touched.size());
    for (const auto& [row, remark] : touched) {
      std::string& list = broken[row];
      list += (list.empty() ? "" : ";") + rule.id;
      if (finding.examples.size() < kExamples) {
        finding.examples.push_back(ExampleOf(table, rule, row, remark));
      }
    }
  }
  for (int64_t row = 0; row < table.rows; ++row) {
    const auto found = broken.find(row);
    if (found == broken.end()) {
      out.kept.push_back(row);
    } else {
      out.quarantined.push_back(row);
      out.broken.push_back(found->second);
    }
  }
  return out;
}

}  // namespace stepslack::data

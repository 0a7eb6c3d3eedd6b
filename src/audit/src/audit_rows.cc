#include "audit_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>

#include "stepslack/base/random.h"
#include "stepslack/base/text.h"
#include "stepslack/data/table_cells.h"

namespace stepslack::audit {
namespace {

using base::ExitCode;
using base::Fail;
using data::Column;
using data::ColumnKind;
using data::ColumnRole;

size_t Distinct(const Column& column) {
  if (column.kind == ColumnKind::kText) return column.texts.size();
  return std::set<double>(column.numbers.begin(), column.numbers.end()).size();
}

bool HoldsAHash(const Column& column) {
  static constexpr std::string_view kNames[] = {"sha1",   "sha256", "sha512",  "md5",
                                                "digest", "hash",   "checksum"};
  return column.kind == ColumnKind::kText &&
         std::ranges::find(kNames, column.name) != std::end(kNames);
}

base::Result<std::optional<size_t>> ColumnOf(const data::Table& table,
                                             const std::string& wanted,
                                             ColumnRole role) {
  if (!wanted.empty()) {
    const Column* found = table.Find(wanted);
    if (found == nullptr) {
      std::vector<std::string> names;
      for (const Column& column : table.columns) names.push_back(column.name);
      const std::string near = base::DidYouMean(wanted, names);
      return Fail("AUDIT-0010", ExitCode::kUsage,
                  fmt::format("there is no column `{}`", wanted), table.source,
                  near.empty() ? fmt::format("columns: {}", fmt::join(names, ", "))
                               : fmt::format("did you mean `{}`?", near));
    }
    return static_cast<size_t>(found - table.columns.data());
  }
  // The coarsest of several: a family holds its designs.
  std::optional<size_t> best;
  for (const int64_t position : table.WithRole(role)) {
    const auto at = static_cast<size_t>(position);
    const bool coarser = best && role == ColumnRole::kGroup &&
                         Distinct(table.columns[at]) < Distinct(table.columns[*best]);
    if (!best || coarser) best = at;
  }
  return best;
}

void NumberGroups(AuditRows& rows) {
  const Column& column = rows.table->columns[*rows.group];
  std::unordered_map<std::string, int64_t> numbers;
  for (int64_t row = 0; row < rows.table->rows; ++row) {
    const std::string name = data::CellText(column, row);
    const auto [entry, added] =
        numbers.emplace(name, static_cast<int64_t>(rows.group_names.size()));
    if (added) rows.group_names.push_back(name);
    rows.group_of.push_back(entry->second);
  }
}

// train, validation, test by the words of a split column.
std::vector<int> PartsOfColumn(const Column& column, int64_t rows) {
  std::vector<int> part;
  for (int64_t row = 0; row < rows; ++row) {
    const std::string text = data::CellText(column, row);
    part.push_back(text.starts_with("train") || text == "fit"      ? kTrain
                   : text.starts_with("val") || text == "dev"      ? kValidation
                   : text.starts_with("test") || text == "holdout" ? kTest
                                                                   : kNoPart);
  }
  const bool both =
      std::ranges::count(part, kTrain) > 0 && std::ranges::count(part, kTest) > 0;
  return both ? part : std::vector<int>();
}

base::Status ReadParts(AuditRows& rows, DataAudit& audit) {
  const data::Table& table = *rows.table;
  if (!rows.options->split.empty()) {
    SS_TRY(const data::SplitFile split, data::ReadSplitFile(rows.options->split));
    std::vector<std::string> names;
    for (int64_t row = 0; row < table.rows; ++row) {
      names.push_back(rows.id ? data::CellText(table.columns[*rows.id], row)
                              : std::to_string(row));
    }
    SS_TRY(rows.part, PartsOf(names, split, rows.options->split, rows.foreign_groups,
                              audit.notes));
    audit.split = rows.options->split;
    return {};
  }
  for (const int64_t at : table.WithRole(ColumnRole::kSplit)) {
    const Column& column = table.columns[static_cast<size_t>(at)];
    rows.part = PartsOfColumn(column, table.rows);
    if (rows.part.empty()) continue;
    audit.split = "column " + column.name;
    return {};
  }
  audit.split = "none given";
  return {};
}

}  // namespace

std::string AuditRows::Name(int64_t row) const {
  if (id) return data::CellText(table->columns[*id], row);
  return fmt::format("row {}", row);
}

std::string AuditRows::GroupName(int64_t row) const {
  if (group_of.empty()) return "";
  return group_names[static_cast<size_t>(group_of[static_cast<size_t>(row)])];
}

base::Result<AuditRows> PrepareRows(const data::Table& table,
                                    const AuditOptions& options, DataAudit& audit) {
  AuditRows rows;
  rows.table = &table;
  rows.options = &options;
  SS_TRY(rows.id, ColumnOf(table, "", ColumnRole::kId));
  SS_TRY(rows.group, ColumnOf(table, options.group, ColumnRole::kGroup));
  SS_TRY(rows.label, ColumnOf(table, options.label, ColumnRole::kLabel));
  if (rows.group) {
    NumberGroups(rows);
    audit.group_column = table.columns[*rows.group].name;
  }
  if (rows.label) audit.label_column = table.columns[*rows.label].name;
  for (size_t at = 0; at < table.columns.size(); ++at) {
    const Column& column = table.columns[at];
    if (HoldsAHash(column)) {
      rows.content = at;
    } else if (column.role == ColumnRole::kFeature && at != rows.id &&
               at != rows.group && at != rows.label) {
      rows.features.push_back(static_cast<int64_t>(at));
    }
  }
  audit.groups = static_cast<int64_t>(rows.group_names.size());
  SS_RETURN_IF_ERROR(ReadParts(rows, audit));
  return rows;
}

base::Result<std::vector<int>> PartsOf(const std::vector<std::string>& names,
                                       const data::SplitFile& split,
                                       const std::string& file,
                                       std::map<int, std::vector<std::string>>& foreign,
                                       std::vector<std::string>& notes) {
  std::unordered_map<std::string, size_t> place;
  for (size_t i = 0; i < names.size(); ++i) place.emplace(names[i], i);
  std::vector<int> part(names.size(), kNoPart);
  int64_t known = 0, unknown = 0;
  for (const auto& [name, ids] : split.parts) {
    const int number = name == "train" ? kTrain : name == "test" ? kTest : kValidation;
    std::set<std::string> groups;
    for (const std::string& id : ids) {
      auto found = place.find(id);
      if (found == place.end()) found = place.find(id.substr(0, id.rfind('.')));
      if (found != place.end()) {
        part[found->second] = number;
        ++known;
      } else {
        ++unknown;
        groups.insert(id.substr(0, id.find('_')));
      }
    }
    foreign[number].assign(groups.begin(), groups.end());
  }
  if (known == 0) {
    return Fail(
        "AUDIT-0011", ExitCode::kInput, "none of the split's ids is in the data", file,
        names.empty() ? "the data are empty"
                      : fmt::format("ids of the data look like `{}`; without an "
                                    "id column they are row numbers",
                                    names.front()));
  }
  const auto without = std::ranges::count(part, static_cast<int>(kNoPart));
  if (unknown > 0) {
    notes.push_back(fmt::format("{} ids of the split are not in the data", unknown));
  }
  if (without > 0) notes.push_back(fmt::format("{} rows are in no part", without));
  return part;
}

std::vector<int> RandomParts(int64_t rows, double test_share, uint64_t seed) {
  std::vector<int64_t> order(static_cast<size_t>(rows));
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
  base::Random random(base::DeriveSeed(seed, "random split"));
  random.Shuffle(std::span<int64_t>(order));
  const auto train = static_cast<size_t>((1 - test_share) * static_cast<double>(rows));
  std::vector<int> part(order.size(), kTest);
  for (size_t i = 0; i < train; ++i) part[static_cast<size_t>(order[i])] = kTrain;
  return part;
}

void Report(DataAudit& audit, const std::string& id, std::optional<Finding> finding,
            std::string reason, int64_t examined) {
  audit.checks.push_back({id, finding ? CheckVerdict::kFinding : CheckVerdict::kPassed,
                          std::move(reason), examined});
  if (!finding) return;
  finding->id = id;
  audit.findings.push_back(std::move(*finding));
}

void ReportNotRun(DataAudit& audit, const std::string& id, std::string reason) {
  audit.checks.push_back({id, CheckVerdict::kNotRun, std::move(reason), 0});
}

std::vector<int64_t> TestRowsWithTwin(const DuplicateGroups& groups,
                                      std::span<const int> part) {
  std::vector<int64_t> leaked;
  for (int64_t g = 0; g < groups.count(); ++g) {
    const auto members = groups.Group(g);
    const bool in_train = std::ranges::any_of(
        members, [&](int64_t row) { return part[static_cast<size_t>(row)] == kTrain; });
    if (!in_train) continue;
    for (const int64_t row : members) {
      if (part[static_cast<size_t>(row)] == kTest) leaked.push_back(row);
    }
  }
  std::ranges::sort(leaked);
  return leaked;
}

std::vector<std::string> GroupsOf(const AuditRows& rows,
                                  std::span<const int64_t> which) {
  std::set<std::string> names;
  if (rows.group_of.empty()) return {};
  for (const int64_t row : which) {
    names.insert(rows.GroupName(row));
    if (names.size() >= kMostExamples) break;
  }
  return {names.begin(), names.end()};
}

std::vector<std::string> Names(const AuditRows& rows, std::span<const int64_t> which) {
  std::vector<std::string> names;
  for (const int64_t row : which.first(std::min(which.size(), kMostExamples))) {
    names.push_back(rows.Name(row));
  }
  return names;
}

}  // namespace stepslack::audit

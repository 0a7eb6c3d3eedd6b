#include "stepslack/data/dataset_schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <limits>

#include "stepslack/base/config.h"
#include "stepslack/base/file.h"
#include "stepslack/base/text.h"

namespace stepslack::data {
namespace {

constexpr double kBound = std::numeric_limits<double>::max();
constexpr ColumnRole kRoles[] = {
    ColumnRole::kFeature, ColumnRole::kLabel, ColumnRole::kId,     ColumnRole::kGroup,
    ColumnRole::kTime,    ColumnRole::kSplit, ColumnRole::kIgnored};

std::vector<std::string> RoleNames() {
  std::vector<std::string> names;
  for (const ColumnRole role : kRoles) names.emplace_back(ToString(role));
  return names;
}

int PlaceOf(const std::vector<std::string>& stages, const std::string& stage) {
  const auto found = std::ranges::find(stages, stage);
  return found == stages.end() ? -1 : static_cast<int>(found - stages.begin());
}

std::optional<double> Bound(base::ConfigTable& table, std::string_view key) {
  if (!table.Has(key)) return std::nullopt;
  return table.Double(key, 0.0, -kBound, kBound);
}

ColumnSchema ReadColumn(base::ConfigTable& table, const DatasetSchema& schema) {
  ColumnSchema column;
  column.name = table.String("name");
  column.unit = table.String("unit", "");
  if (table.Has("role")) {
    column.role = ParseRole(table.Choice("role", "feature", RoleNames()));
  }
  if (table.Has("kind")) {
    column.kind = table.Choice("kind", "number", {"number", "text"}) == "text"
                      ? ColumnKind::kText
                      : ColumnKind::kNumber;
  }
  if (table.Has("stage") && !schema.stages.empty()) {
    column.stage = PlaceOf(schema.stages, table.Choice("stage", {}, schema.stages));
  } else if (table.Has("stage")) {
    table.String("stage");
    table.Reject("stage", "there is no list of stages",
                 "add stages = [\"k_\", \"syn_\"] at the top of the file");
  }
  column.low = Bound(table, "low");
  column.high = Bound(table, "high");
  if (column.low && column.high && *column.low > *column.high) {
    table.Reject("low", "the lower bound is above the upper one", "exchange them");
  }
  column.missing = table.Strings("missing");
  return column;
}

bool IsOneOf(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::ranges::find(names, name) != names.end();
}

}  // namespace

bool ColumnSchema::Matches(std::string_view column) const {
  if (!name.ends_with('*')) return column == name;
  return column.starts_with(std::string_view(name).substr(0, name.size() - 1));
}

const ColumnSchema* DatasetSchema::Find(std::string_view column) const {
  const ColumnSchema* pattern = nullptr;
  for (const ColumnSchema& entry : columns) {
    if (entry.name == column) return &entry;
    if (pattern == nullptr && entry.Matches(column)) pattern = &entry;
  }
  return pattern;
}

int DatasetSchema::StageOf(std::string_view column) const {
  if (const ColumnSchema* entry = Find(column); entry != nullptr && entry->stage >= 0) {
    return entry->stage;
  }
  int best = -1;
  size_t length = 0;
  for (size_t i = 0; i < stages.size(); ++i) {
    if (stages[i].size() > length && column.starts_with(stages[i])) {
      best = static_cast<int>(i);
      length = stages[i].size();
    }
  }
  return best;
}

base::Result<DatasetSchema> ParseSchema(std::string_view text, std::string_view name) {
  SS_TRY(base::ConfigTable config, base::ConfigTable::Parse(text, name));
  DatasetSchema schema;
  schema.file = std::string(name);
  schema.stages = config.Strings("stages");
  if (config.Has("decision")) {
    if (schema.stages.empty()) {
      config.String("decision");
      config.Reject("decision", "there is no list of stages to choose from",
                    "add stages = [\"k_\", \"syn_\"] to the file");
    } else {
      schema.decision_stage =
          PlaceOf(schema.stages, config.Choice("decision", {}, schema.stages));
    }
  }
  schema.files = config.Strings("files");
  for (base::ConfigTable* table : config.Tables("columns")) {
    schema.columns.push_back(ReadColumn(*table, schema));
    const std::string& column = schema.columns.back().name;
    const auto same = std::ranges::count(schema.columns, column, &ColumnSchema::name);
    if (same > 1) table->Reject("name", "the column is declared twice", "keep one");
  }
  SS_RETURN_IF_ERROR(config.Finish());
  return schema;
}

base::Result<DatasetSchema> LoadSchema(const std::string& path) {
  SS_TRY(const std::string text, base::ReadFile(path));
  return ParseSchema(text, path);
}

base::Result<std::optional<DatasetSchema>> FindSchema(const std::string& path) {
  const std::string folder = base::IsFolder(path) ? path : base::ParentFolder(path);
  const std::string file = base::JoinPath(folder, "dataset.toml");
  if (!base::PathExists(file)) return std::nullopt;
  SS_TRY(DatasetSchema schema, LoadSchema(file));
  return schema;
}

std::optional<ColumnRole> ParseRole(std::string_view text) {
  for (const ColumnRole role : kRoles) {
    if (ToString(role) == text) return role;
  }
  return std::nullopt;
}

std::optional<ColumnRole> GuessRole(std::string_view column) {
  std::string name(column);
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<uint8_t>(c)));
  if (IsOneOf(name, {"id", "sample_id", "name"})) return ColumnRole::kId;
  if (IsOneOf(name, {"family", "design", "group", "project"})) {
    return ColumnRole::kGroup;
  }
  if (IsOneOf(name, {"split", "part", "fold"})) return ColumnRole::kSplit;
  if (IsOneOf(name, {"date", "time", "timestamp"}) || name.ends_with("_at")) {
    return ColumnRole::kTime;
  }
  if (IsOneOf(name, {"label", "target", "y"}) || name.ends_with("_label")) {
    return ColumnRole::kLabel;
  }
  return std::nullopt;
}

base::Status ApplySchema(const std::optional<DatasetSchema>& schema, Table& layout) {
  for (Column& column : layout.columns) {
    const ColumnSchema* entry = schema ? schema->Find(column.name) : nullptr;
    if (schema) column.stage = schema->StageOf(column.name);
    if (entry != nullptr) column.unit = entry->unit;
    if (entry != nullptr && entry->role) {
      column.role = *entry->role;
    } else if (const auto guess = GuessRole(column.name)) {
      column.role = *guess;
      layout.notes.push_back(fmt::format("role of {} guessed from its name: {}",
                                         column.name, ToString(*guess)));
    }
  }
  if (!schema) return {};
  std::vector<std::string> names;
  for (const Column& column : layout.columns) names.push_back(column.name);
  for (const ColumnSchema& entry : schema->columns) {
    if (std::ranges::any_of(names, [&](auto& name) { return entry.Matches(name); })) {
      continue;
    }
    const std::string near = base::DidYouMean(entry.name, names);
    return base::Fail(
        "DATA-0316", base::ExitCode::kInput,
        fmt::format("the schema names the column \"{}\", which {} does not have",
                    entry.name, layout.source),
        schema->file,
        near.empty() ? "correct or remove its entry"
                     : fmt::format("did you mean \"{}\"?", near));
  }
  return {};
}

}  // namespace stepslack::data

#include "stepslack/data/table_stages.h"

#include <fmt/format.h>

#include <numeric>

#include "stepslack/base/digest.h"
#include "stepslack/base/file.h"
#include "stepslack/data/lineage.h"
#include "stepslack/data/table_cells.h"
#include "stepslack/data/table_source.h"

namespace stepslack::data {
namespace {

using base::ExitCode;
using base::Fail;
using base::JoinPath;

// What a stage made, before it is written.
struct Made {
  Table table;
  TableCleaning cleaning;
  std::map<std::string, std::string> files;  // name to content
  LineageStage stage;
};

std::string Quoted(const std::string& text) { return base::Json(text).Dump(-1); }

std::string ListOf(const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& text : texts) out += (out.empty() ? "" : ", ") + Quoted(text);
  return "[" + out + "]";
}

std::string SchemaText(const Table& table, const std::optional<DatasetSchema>& schema,
                       const std::string& file) {
  std::string text = fmt::format("files = {}\n", ListOf({file}));
  const bool stages = schema && !schema->stages.empty();
  if (stages) text += fmt::format("stages = {}\n", ListOf(schema->stages));
  if (stages && schema->decision_stage >= 0) {
    const auto at = static_cast<size_t>(schema->decision_stage);
    text += fmt::format("decision = {}\n", Quoted(schema->stages[at]));
  }
  for (const Column& column : table.columns) {
    const ColumnSchema* entry = schema ? schema->Find(column.name) : nullptr;
    text += fmt::format("\n[[columns]]\nname = {}\nrole = \"{}\"\nkind = \"{}\"\n",
                        Quoted(column.name), ToString(column.role),
                        column.kind == ColumnKind::kNumber ? "number" : "text");
    if (!column.unit.empty()) text += fmt::format("unit = {}\n", Quoted(column.unit));
    if (stages && column.stage >= 0) {
      const auto at = static_cast<size_t>(column.stage);
      text += fmt::format("stage = {}\n", Quoted(schema->stages[at]));
    }
    if (entry == nullptr) continue;
    if (entry->low) text += fmt::format("low = {}\n", base::FormatDouble(*entry->low));
    if (entry->high) {
      text += fmt::format("high = {}\n", base::FormatDouble(*entry->high));
    }
    if (!entry->missing.empty()) {
      text += fmt::format("missing = {}\n", ListOf(entry->missing));
    }
  }
  return text;
}

base::Result<std::optional<DatasetSchema>> SchemaOf(const StageOptions& options) {
  if (options.schema.empty()) return FindSchema(options.path);
  SS_TRY(DatasetSchema schema, LoadSchema(options.schema));
  return schema;
}

// Digests of the files that a stage reads.
base::Result<std::map<std::string, std::string>> InputsOf(const StageOptions& options) {
  std::map<std::string, std::string> inputs;
  std::vector<std::string> names{base::FileName(options.path)};
  std::string folder = base::ParentFolder(options.path);
  if (base::IsFolder(options.path)) {
    folder = options.path;
    SS_TRY(names, base::ListFolder(folder));
  } else if (options.schema.empty() &&
             base::PathExists(JoinPath(folder, "dataset.toml"))) {
    names.push_back("dataset.toml");
  }
  for (const std::string& name : names) {
    const std::string path = JoinPath(folder, name);
    if (name == "lineage.json" || base::IsFolder(path)) continue;
    SS_TRY(inputs[name], base::Sha256OfFile(path));
  }
  if (!options.schema.empty()) {
    SS_TRY(inputs["schema"], base::Sha256OfFile(options.schema));
  }
  return inputs;
}

void Seal(const StageOptions& options, Made& made) {
  std::vector<FileRecord> records;
  for (const auto& [name, content] : made.files) {
    records.push_back(
        {name, base::Sha256Of(content), static_cast<int64_t>(content.size())});
  }
  made.stage.output = DigestOf(records);
  made.stage.parameters.Set("path", options.path).Set("schema", options.schema);
  made.stage.parameters.Set("version", options.version);
  base::Json outputs{base::Json::Object{}};
  for (const FileRecord& record : records) outputs.Set(record.file, record.sha256);
  made.stage.parameters.Set("outputs", std::move(outputs));
}

base::Result<Made> RunIngest(const StageOptions& options) {
  Made made;
  SS_TRY(const auto schema, SchemaOf(options));
  SS_TRY(made.stage.inputs, InputsOf(options));
  SS_TRY(made.table, ReadTable(options.path, {.schema = options.schema}));
  std::vector<int64_t> rows(static_cast<size_t>(made.table.rows));
  std::iota(rows.begin(), rows.end(), 0);
  made.files["table.csv"] = CsvOf(made.table, rows);
  made.files["dataset.toml"] = SchemaText(made.table, schema, "table.csv");
  made.stage.name = "ingest";
  made.stage.counts["rows"] = made.table.rows;
  made.stage.counts["columns"] = static_cast<int64_t>(made.table.columns.size());
  Seal(options, made);
  return made;
}

base::Result<Made> RunClean(const StageOptions& options, const std::string& rules_text,
                            const std::string& rules_file) {
  Made made;
  SS_TRY(auto rules, ParseRules(rules_text, rules_file));
  SS_TRY(const auto schema, SchemaOf(options));
  SS_TRY(made.stage.inputs, InputsOf(options));
  SS_TRY(made.table, ReadTable(options.path, {.schema = options.schema}));
  if (made.table.Find("rules") != nullptr) {
    return Fail("DATA-0353", ExitCode::kInput,
                "the table has a column \"rules\", which the quarantine needs",
                options.path, "give that column another name");
  }
  if (schema) {
    for (TableRule& rule : RulesOf(*schema, made.table)) {
      rules.push_back(std::move(rule));
    }
  }
  SS_TRY(made.cleaning, CleanTable(made.table, rules));
  const TableCleaning& cleaning = made.cleaning;
  made.files["clean.csv"] = CsvOf(made.table, cleaning.kept);
  made.files["quarantine.csv"] =
      CsvOf(made.table, cleaning.quarantined, "rules", cleaning.broken);
  made.files["dataset.toml"] = SchemaText(made.table, schema, "clean.csv");
  made.stage.name = "clean";
  made.stage.inputs["rules"] = base::Sha256Of(rules_text);
  made.stage.parameters.Set("rules_file", rules_file).Set("rules", rules_text);
  made.stage.parameters.Set("found", ToJson(cleaning));
  made.stage.counts["rows"] = static_cast<int64_t>(cleaning.kept.size());
  made.stage.counts["quarantined"] = static_cast<int64_t>(cleaning.quarantined.size());
  Seal(options, made);
  return made;
}

base::Result<Lineage> ReadLineage(const std::string& file) {
  SS_TRY(const std::string text, base::ReadFile(file));
  SS_TRY(const base::Json json, base::ParseJson(text, file));
  if (json["schema"].AsString() != "stepslack.lineage/1") {
    return Fail("DATA-0354", ExitCode::kInput, "the file is no lineage of this program",
                file, "give a folder that `data ingest` or `data clean` wrote");
  }
  Lineage lineage;
  for (const base::Json& one : json["stages"].AsArray()) {
    LineageStage& stage = lineage.stages.emplace_back();
    stage.name = one["name"].AsString();
    stage.parameters = one["parameters"];
    stage.output = one["output"].AsString();
    for (const auto& [name, digest] : one["inputs"].AsObject()) {
      stage.inputs[name] = digest.AsString();
    }
    for (const auto& [name, count] : one["counts"].AsObject()) {
      stage.counts[name] = count.AsInt();
    }
  }
  return lineage;
}

base::Status WriteStage(const StageOptions& options, const Made& made) {
  Lineage lineage;
  const std::string folder =
      base::IsFolder(options.path) ? options.path : base::ParentFolder(options.path);
  const std::string before = JoinPath(folder, "lineage.json");
  if (base::PathExists(before)) {
    // Lineages of other kinds of data may lie there; this stage then is the first.
    if (auto read = ReadLineage(before); read.has_value()) lineage = std::move(*read);
  }
  lineage.stages.push_back(made.stage);
  SS_RETURN_IF_ERROR(base::MakeFolders(options.out));
  for (const auto& [name, content] : made.files) {
    SS_RETURN_IF_ERROR(base::WriteFileAtomic(JoinPath(options.out, name), content));
  }
  return base::WriteFileAtomic(JoinPath(options.out, "lineage.json"),
                               ToJson(lineage).Dump() + "\n");
}

base::Status CheckOut(const std::string& out) {
  if (!base::PathExists(out)) return {};
  if (base::IsFolder(out)) {
    SS_TRY(const auto names, base::ListFolder(out));
    if (names.empty()) return {};
  }
  return Fail("DATA-0352", ExitCode::kUsage, "the folder to write is not empty", out,
              "name a new folder");
}

std::string Located(const std::string& path, const std::string& folder) {
  if (path.empty() || base::PathExists(path)) return path;
  const std::string inside = JoinPath(folder, path);
  return base::PathExists(inside) ? inside : path;
}

RebuiltStage RunAgain(const LineageStage& stage, const std::string& folder) {
  RebuiltStage out{.name = stage.name, .recorded = stage.output};
  StageOptions options;
  options.path = Located(stage.parameters["path"].AsString(), folder);
  options.schema = Located(stage.parameters["schema"].AsString(), folder);
  base::Result<Made> made =
      stage.name == "ingest" ? RunIngest(options)
      : stage.name == "clean"
          ? RunClean(options, stage.parameters["rules"].AsString(),
                     stage.parameters["rules_file"].AsString())
          : Fail("DATA-0355", ExitCode::kInput,
                 "no table stage of that name can be run again", stage.name,
                 "tables have the stages ingest and clean");
  if (!made.has_value()) {
    out.reason = fmt::format("{}: {}", made.error().where, made.error().what);
    return out;
  }
  out.rebuilt = made->stage.output;
  if (out.same()) return out;
  for (const auto& [name, digest] : stage.inputs) {
    const auto now = made->stage.inputs.find(name);
    if (now != made->stage.inputs.end() && now->second == digest) continue;
    out.reason += fmt::format("{}{} has {}", out.reason.empty() ? "" : ", ", name,
                              now == made->stage.inputs.end() ? "gone" : "changed");
  }
  if (out.reason.empty()) {
    out.reason = fmt::format("the inputs are the same, the program is not (was {})",
                             stage.parameters["version"].AsString());
  }
  return out;
}

}  // namespace

base::Result<Table> IngestTable(const StageOptions& options) {
  SS_RETURN_IF_ERROR(CheckOut(options.out));
  SS_TRY(Made made, RunIngest(options));
  SS_RETURN_IF_ERROR(WriteStage(options, made));
  return std::move(made.table);
}

base::Result<TableCleaning> CleanTableFile(const StageOptions& options,
                                           const std::string& rules_file) {
  SS_RETURN_IF_ERROR(CheckOut(options.out));
  SS_TRY(const std::string rules, base::ReadFile(rules_file));
  SS_TRY(Made made, RunClean(options, rules, rules_file));
  SS_RETURN_IF_ERROR(WriteStage(options, made));
  return std::move(made.cleaning);
}

base::Result<Rebuild> RebuildLineage(const std::string& folder) {
  SS_TRY(const Lineage lineage, ReadLineage(JoinPath(folder, "lineage.json")));
  Rebuild rebuild;
  for (const LineageStage& stage : lineage.stages) {
    rebuild.stages.push_back(RunAgain(stage, folder));
    if (!rebuild.stages.back().same() && rebuild.first_different.empty()) {
      rebuild.first_different = stage.name;
    }
  }
  // The folder itself must hold what its last stage made.
  if (rebuild.stages.empty() || !rebuild.first_different.empty()) return rebuild;
  const base::Json& outputs = lineage.stages.back().parameters["outputs"];
  for (const auto& [name, digest] : outputs.AsObject()) {
    const auto now = base::Sha256OfFile(JoinPath(folder, name));
    if (now.has_value() && *now == digest.AsString()) continue;
    RebuiltStage& last = rebuild.stages.back();
    last.rebuilt = now.value_or("");
    last.reason = fmt::format("{} in the folder has {} since it was written", name,
                              now.has_value() ? "changed" : "gone");
    rebuild.first_different = last.name;
  }
  return rebuild;
}

base::Json ToJson(const Rebuild& rebuild) {
  base::Json stages{base::Json::Array{}};
  for (const RebuiltStage& stage : rebuild.stages) {
    base::Json one;
    one.Set("name", stage.name).Set("recorded", stage.recorded);
    one.Set("rebuilt", stage.rebuilt).Set("same", stage.same());
    one.Set("reason", stage.reason);
    stages.Append(std::move(one));
  }
  base::Json json;
  json.Set("schema", "stepslack.rebuild/1");
  json.Set("stages", std::move(stages));
  json.Set("first_different", rebuild.first_different);
  return json;
}

std::string Describe(const Rebuild& rebuild) {
  std::string text;
  for (const RebuiltStage& stage : rebuild.stages) {
    text += fmt::format("{}: {}\n", stage.name,
                        stage.same() ? "the same digest" : "DIFFERS: " + stage.reason);
  }
  return text;
}

}  // namespace stepslack::data

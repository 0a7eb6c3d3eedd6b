#include "stepslack/data/table_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <system_error>

#include "row_reader.h"
#include "stepslack/base/file.h"
#include "stepslack/base/utf8.h"

namespace stepslack::data {
namespace {

using base::ExitCode;
using base::Fail;

enum class Form { kNone, kCsv, kJson, kJsonLines, kArray };

Form FormOf(std::string_view path) {
  if (path.ends_with(".npy") || path.ends_with(".npz")) return Form::kArray;
  if (path.ends_with(".gz")) path.remove_suffix(3);
  if (path.ends_with(".csv") || path.ends_with(".tsv")) return Form::kCsv;
  if (path.ends_with(".jsonl") || path.ends_with(".ndjson")) return Form::kJsonLines;
  return path.ends_with(".json") ? Form::kJson : Form::kNone;
}

base::Result<std::unique_ptr<FileSource>> OpenFile(
    const std::string& path, const std::optional<DatasetSchema>& schema,
    int64_t batch_rows) {
  const Form form = FormOf(path);
  if (form == Form::kNone) {
    return Fail("DATA-0315", ExitCode::kInput,
                "the kind of file is not known by its "
                "name",
                path, "tables are .csv, .tsv, .json, .jsonl (also .gz), .npy and .npz");
  }
  if (form == Form::kArray) return OpenArrayTable(path, batch_rows);
  SS_TRY(auto rows, form == Form::kCsv ? OpenCsvRows(path)
                                       : OpenJsonRows(path, form == Form::kJsonLines));
  return TypeRows(std::move(rows), path, schema, batch_rows);
}

base::Status CheckEntry(const std::string& folder, const std::string& name) {
  for (size_t at = 0; at < name.size();) {
    const base::CodePoint point = base::DecodeUtf8(name, at);
    at += point.bytes;
    if (point.valid) continue;
    return Fail("DATA-0314", ExitCode::kInput, "a file name is not UTF-8",
                base::JoinPath(folder, base::ValidUtf8(name)), "rename the file");
  }
  std::error_code error;
  static_cast<void>(std::filesystem::status(base::JoinPath(folder, name), error));
  if (error == std::errc::too_many_symbolic_link_levels) {
    return Fail("DATA-0313", ExitCode::kInput, "the symbolic link leads to itself",
                base::JoinPath(folder, name), "remove the link");
  }
  return {};
}

// Names of the table files of a folder, sorted.
base::Result<std::vector<std::string>> TableFiles(const std::string& folder,
                                                  const DatasetSchema* schema,
                                                  std::vector<std::string>& notes) {
  if (schema != nullptr && !schema->files.empty()) return schema->files;
  SS_TRY(const auto names, base::ListFolder(folder));
  std::vector<std::string> files;
  int64_t others = 0;
  for (const std::string& name : names) {
    SS_RETURN_IF_ERROR(CheckEntry(folder, name));
    const bool ours = name == "dataset.toml" || name == "lineage.json" ||
                      name == "clean.json" || name.ends_with(".columns.txt") ||
                      name.starts_with("quarantine.");
    if (ours) continue;
    if (FormOf(name) != Form::kNone && !base::IsFolder(base::JoinPath(folder, name))) {
      files.push_back(name);
    } else {
      ++others;
    }
  }
  if (others > 0) notes.push_back(fmt::format("{} other entries not read", others));
  if (!files.empty()) return files;
  return Fail("DATA-0311", ExitCode::kInput, "the folder holds no table", folder,
              "tables are .csv, .tsv, .json, .jsonl (also .gz), .npy and .npz");
}

// Files one after another; texts keep one numbering over all of them.
class FolderTable : public FileSource {
 public:
  FolderTable(std::vector<std::unique_ptr<FileSource>> files, Table layout)
      : files_(std::move(files)), layout_(std::move(layout)) {
    texts_.resize(layout_.columns.size());
  }

  const Table& layout() const override { return layout_; }
  void MakeText(size_t column) override {
    layout_.columns[column].kind = ColumnKind::kText;
    for (auto& file : files_) file->MakeText(column);
  }

  base::Result<bool> Next(Table& batch) override {
    while (at_ < files_.size()) {
      SS_TRY(const bool any, files_[at_]->Next(part_));
      if (any) break;
      part_ = {};
      map_.clear();
      files_[at_++].reset();
    }
    StartBatch(layout_, batch);
    if (at_ == files_.size()) return false;
    batch.rows = part_.rows;
    map_.resize(batch.columns.size());
    for (size_t i = 0; i < batch.columns.size(); ++i) {
      Column& from = part_.columns[i];
      Column& to = batch.columns[i];
      std::swap(to.numbers, from.numbers);
      std::swap(to.missing, from.missing);
      if (to.kind == ColumnKind::kText) Renumber(i, from, to);
    }
    return true;
  }

 private:
  void Renumber(size_t i, const Column& from, Column& to) {
    Texts& texts = texts_[i];
    for (size_t t = map_[i].size(); t < from.texts.size(); ++t) {
      const auto [found, fresh] = texts.places.try_emplace(
          from.texts[t], static_cast<uint32_t>(texts.all.size()));
      if (fresh) texts.all.push_back(from.texts[t]);
      map_[i].push_back(found->second);
    }
    to.codes.resize(from.codes.size());
    for (size_t r = 0; r < from.codes.size(); ++r) {
      to.codes[r] = map_[i][from.codes[r]];
    }
    if (to.texts.size() > texts.all.size()) to.texts.clear();
    to.texts.insert(to.texts.end(),
                    texts.all.begin() + static_cast<int64_t>(to.texts.size()),
                    texts.all.end());
  }

  struct Texts {
    std::map<std::string, uint32_t> places;
    std::vector<std::string> all;
  };
  std::vector<std::unique_ptr<FileSource>> files_;
  Table layout_;
  Table part_;
  std::vector<Texts> texts_;
  std::vector<std::vector<uint32_t>> map_;  // code of the file to that of the folder
  size_t at_ = 0;
};

base::Status CheckSameColumns(const Table& first, const Table& other) {
  if (std::ranges::equal(first.columns, other.columns, {}, &Column::name,
                         &Column::name)) {
    return {};
  }
  std::string name = "their number or order";
  for (const Column& column : other.columns) {
    if (first.Find(column.name) == nullptr) name = column.name;
  }
  for (const Column& column : first.columns) {
    if (other.Find(column.name) == nullptr) name = column.name;
  }
  return Fail("DATA-0312", ExitCode::kInput,
              fmt::format("its columns are not those of {}; they differ in {}",
                          first.source, name),
              other.source,
              "keep tables of one kind in a folder, or list them under files in "
              "dataset.toml");
}

base::Result<std::unique_ptr<FileSource>> OpenFolder(
    const std::string& path, const std::optional<DatasetSchema>& schema,
    int64_t batch_rows) {
  Table layout;
  SS_TRY(const auto names, TableFiles(path, schema ? &*schema : nullptr, layout.notes));
  std::vector<std::unique_ptr<FileSource>> files;
  for (const std::string& name : names) {
    SS_TRY(auto file, OpenFile(base::JoinPath(path, name), schema, batch_rows));
    if (files.empty()) layout.columns = file->layout().columns;
    if (!files.empty()) {
      SS_RETURN_IF_ERROR(CheckSameColumns(files[0]->layout(), file->layout()));
    }
    for (const std::string& note : file->layout().notes) {
      layout.notes.push_back(name + ": " + note);
    }
    files.push_back(std::move(file));
  }
  layout.source = path;
  const size_t columns = layout.columns.size();
  std::vector<bool> text(columns);
  for (const auto& file : files) {
    for (size_t i = 0; i < columns; ++i) {
      if (file->layout().columns[i].kind == ColumnKind::kText) text[i] = true;
    }
  }
  auto folder = std::make_unique<FolderTable>(std::move(files), std::move(layout));
  for (size_t i = 0; i < columns; ++i) {
    if (text[i]) folder->MakeText(i);
  }
  return folder;
}

// Hands out what `inner` reads, with the roles and units of the schema.
class WithRoles : public TableSource {
 public:
  WithRoles(std::unique_ptr<FileSource> inner, Table layout)
      : inner_(std::move(inner)), layout_(std::move(layout)) {}
  const Table& layout() const override { return layout_; }
  base::Result<bool> Next(Table& batch) override {
    SS_TRY(const bool any, inner_->Next(batch));
    batch.notes = layout_.notes;
    for (size_t i = 0; i < batch.columns.size(); ++i) {
      batch.columns[i].unit = layout_.columns[i].unit;
      batch.columns[i].role = layout_.columns[i].role;
      batch.columns[i].stage = layout_.columns[i].stage;
    }
    return any;
  }

 private:
  std::unique_ptr<FileSource> inner_;
  Table layout_;
};

}  // namespace

base::Result<std::unique_ptr<TableSource>> OpenTable(const std::string& path,
                                                     const TableOptions& options) {
  std::optional<DatasetSchema> schema;
  if (options.schema.empty()) {
    SS_TRY(schema, FindSchema(path));
  } else {
    SS_TRY(schema, LoadSchema(options.schema));
  }
  SS_RETURN_IF_ERROR(CheckEntry(base::ParentFolder(path), base::FileName(path)));
  SS_TRY(auto inner, base::IsFolder(path) ? OpenFolder(path, schema, options.batch_rows)
                                          : OpenFile(path, schema, options.batch_rows));
  Table layout = inner->layout();
  SS_RETURN_IF_ERROR(ApplySchema(schema, layout));
  return std::make_unique<WithRoles>(std::move(inner), std::move(layout));
}

base::Result<Table> ReadTable(const std::string& path, const TableOptions& options) {
  SS_TRY(const auto source, OpenTable(path, options));
  Table all = source->layout();
  Table batch;
  while (true) {
    SS_TRY(const bool any, source->Next(batch));
    if (!any) break;
    for (size_t i = 0; i < all.columns.size(); ++i) {
      Column& to = all.columns[i];
      Column& from = batch.columns[i];
      to.numbers.insert(to.numbers.end(), from.numbers.begin(), from.numbers.end());
      to.codes.insert(to.codes.end(), from.codes.begin(), from.codes.end());
      to.texts = from.texts;
      if (from.missing.empty() && to.missing.empty()) continue;
      to.missing.resize(static_cast<size_t>(all.rows));
      to.missing.insert(to.missing.end(), from.missing.begin(), from.missing.end());
      to.missing.resize(static_cast<size_t>(all.rows + batch.rows));
    }
    all.rows += batch.rows;
  }
  return all;
}

}  // namespace stepslack::data

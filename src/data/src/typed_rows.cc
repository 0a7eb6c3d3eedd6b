#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>
#include <unordered_map>

#include "cell.h"
#include "row_reader.h"

namespace stepslack::data {
namespace {

// Texts by position, first seen first.
class TextPool {
 public:
  uint32_t CodeOf(std::string_view text) {
    if (!texts_.empty() && last_ < texts_.size() && texts_[last_] == text) {
      return last_;
    }
    const auto [found, fresh] =
        places_.try_emplace(std::string(text), static_cast<uint32_t>(texts_.size()));
    if (fresh) texts_.push_back(found->first);
    return last_ = found->second;
  }
  const std::vector<std::string>& texts() const { return texts_; }

 private:
  std::unordered_map<std::string, uint32_t> places_;
  std::vector<std::string> texts_;
  uint32_t last_ = 0;
};

class TypedRows : public FileSource {
 public:
  TypedRows(std::unique_ptr<RowReader> rows, const std::string& path,
            const std::optional<DatasetSchema>& schema, int64_t batch_rows)
      : rows_(std::move(rows)), batch_rows_(std::max<int64_t>(1, batch_rows)) {
    layout_.source = path;
    for (const std::string& name : rows_->names()) {
      const ColumnSchema* entry = schema ? schema->Find(name) : nullptr;
      Column& column = layout_.columns.emplace_back();
      column.name = name;
      if (entry != nullptr && entry->kind) column.kind = *entry->kind;
      declared_number_.push_back(entry != nullptr &&
                                 entry->kind == ColumnKind::kNumber);
      codes_.push_back(entry != nullptr ? entry->missing : std::vector<std::string>{});
    }
    pools_.resize(layout_.columns.size());
  }

  const Table& layout() const override { return layout_; }
  void MakeText(size_t column) override {
    layout_.columns[column].kind = ColumnKind::kText;
  }

  base::Status FindKinds() {
    std::vector<int64_t> numbers(layout_.columns.size()), texts(numbers);
    std::vector<std::string> first(numbers.size());
    std::vector<std::string_view> row;
    for (int64_t line = 1;; ++line) {
      SS_TRY(const bool any, rows_->Next(row));
      if (!any) break;
      for (size_t i = 0; i < row.size(); ++i) {
        if (layout_.columns[i].kind == ColumnKind::kText) continue;
        const CellValue cell = ReadCell(row[i], codes_[i]);
        if (cell.is_number) ++numbers[i];
        if (cell.is_number || cell.missing != Missing::kPresent) continue;
        if (declared_number_[i]) return NoNumber(i, line, row[i]);
        first[i] = std::string(row[i].substr(0, 40));
        MakeText(i);
        if (numbers[i] > 0) {
          layout_.notes.push_back(
              fmt::format("{} is text: its row {} holds \"{}\" after {} numbers",
                          layout_.columns[i].name, line, first[i], numbers[i]));
        }
      }
    }
    return rows_->Rewind();
  }

  base::Result<bool> Next(Table& batch) override {
    StartBatch(layout_, batch);
    std::vector<std::string_view> row;
    while (!done_ && batch.rows < batch_rows_) {
      SS_TRY(const bool any, rows_->Next(row));
      done_ = !any;
      if (done_) break;
      for (size_t i = 0; i < row.size(); ++i) Add(i, row[i], batch.columns[i]);
      ++batch.rows;
    }
    for (size_t i = 0; i < pools_.size(); ++i) {
      auto& texts = batch.columns[i].texts;
      const auto& pool = pools_[i].texts();
      if (texts.size() > pool.size()) texts.clear();
      texts.insert(texts.end(), pool.begin() + static_cast<int64_t>(texts.size()),
                   pool.end());
      if (std::ranges::all_of(batch.columns[i].missing,
                              [](Missing m) { return m == Missing::kPresent; })) {
        batch.columns[i].missing.clear();
      }
    }
    return batch.rows > 0;
  }

 private:
  base::Status NoNumber(size_t column, int64_t row, std::string_view text) const {
    return base::Fail("DATA-0317", base::ExitCode::kInput,
                      fmt::format("{} is declared a number, but holds \"{}\"",
                                  layout_.columns[column].name, text.substr(0, 40)),
                      fmt::format("{}, row {}", layout_.source, row),
                      "correct the cell, or declare kind = \"text\" or a code under "
                      "missing");
  }

  void Add(size_t i, std::string_view text, Column& column) {
    const CellValue cell = ReadCell(text, codes_[i]);
    column.missing.push_back(cell.missing);
    if (column.kind == ColumnKind::kNumber) {
      column.numbers.push_back(
          cell.is_number ? cell.number : std::numeric_limits<double>::quiet_NaN());
    } else {
      column.codes.push_back(pools_[i].CodeOf(text));
    }
  }

  std::unique_ptr<RowReader> rows_;
  int64_t batch_rows_;
  Table layout_;
  std::vector<bool> declared_number_;
  std::vector<std::vector<std::string>> codes_;
  std::vector<TextPool> pools_;
  bool done_ = false;
};

}  // namespace

void StartBatch(const Table& layout, Table& batch) {
  const bool same = batch.source == layout.source &&
                    std::ranges::equal(batch.columns, layout.columns, {}, &Column::name,
                                       &Column::name);
  if (!same) batch = layout;
  batch.rows = 0;
  for (size_t i = 0; i < batch.columns.size(); ++i) {
    Column& column = batch.columns[i];
    column.kind = layout.columns[i].kind;
    column.numbers.clear();
    column.codes.clear();
    column.missing.clear();
  }
}

base::Result<std::unique_ptr<FileSource>> TypeRows(
    std::unique_ptr<RowReader> rows, const std::string& path,
    const std::optional<DatasetSchema>& schema, int64_t batch_rows) {
  auto source = std::make_unique<TypedRows>(std::move(rows), path, schema, batch_rows);
  SS_RETURN_IF_ERROR(source->FindKinds());
  return source;
}

}  // namespace stepslack::data

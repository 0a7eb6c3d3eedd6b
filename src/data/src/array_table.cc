// .npy and .npz matrices as tables, straight from the mapped file.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "row_reader.h"
#include "stepslack/base/file.h"
#include "stepslack/base/text.h"
#include "stepslack/record/mapped_array.h"

namespace stepslack::data {
namespace {

using base::ExitCode;
using base::Fail;

struct Matrix {
  record::MappedArray array;
  int64_t width;
};

class ArrayTable : public FileSource {
 public:
  ArrayTable(std::vector<Matrix> parts, Table layout, int64_t rows, int64_t batch_rows)
      : parts_(std::move(parts)),
        layout_(std::move(layout)),
        rows_(rows),
        batch_rows_(std::max<int64_t>(1, batch_rows)) {}

  const Table& layout() const override { return layout_; }
  void MakeText(size_t column) override {
    layout_.columns[column].kind = ColumnKind::kText;
  }

  base::Result<bool> Next(Table& batch) override {
    StartBatch(layout_, batch);
    const int64_t count = std::min(batch_rows_, rows_ - next_);
    if (count <= 0) return false;
    size_t column = 0;
    for (const Matrix& part : parts_) {
      Fill(part, count, batch, column);
      column += static_cast<size_t>(part.width);
    }
    next_ += count;
    batch.rows = count;
    return true;
  }

 private:
  void Fill(const Matrix& part, int64_t count, Table& batch, size_t first) {
    const auto width = static_cast<size_t>(part.width);
    values_.resize(static_cast<size_t>(count) * width);
    part.array.Doubles(next_ * part.width, values_);
    for (size_t c = 0; c < width; ++c) {
      Column& column = batch.columns[first + c];
      column.numbers.resize(static_cast<size_t>(count));
      for (size_t r = 0; r < column.numbers.size(); ++r) {
        const double value = values_[r * width + c];
        column.numbers[r] = value;
        if (std::isfinite(value)) continue;
        column.missing.resize(column.numbers.size());
        column.missing[r] = Missing::kInvalid;
        column.numbers[r] = std::nan("");
      }
    }
  }

  std::vector<Matrix> parts_;
  Table layout_;
  int64_t rows_;
  int64_t batch_rows_;
  int64_t next_ = 0;
  std::vector<double> values_;
};

// "data.npy" has its column names, one a line, in "data.columns.txt".
base::Status NameColumns(const std::string& path, Table& layout) {
  const std::string sidecar =
      std::filesystem::path(path).replace_extension(".columns.txt").string();
  if (!base::PathExists(sidecar)) return {};
  SS_TRY(const std::string text, base::ReadFile(sidecar));
  std::vector<std::string> names;
  for (const std::string_view line : base::Split(text, '\n')) {
    if (!base::Trim(line).empty()) names.emplace_back(base::Trim(line));
  }
  if (names.size() != layout.columns.size()) {
    return Fail(
        "DATA-0309", ExitCode::kInput,
        fmt::format("{} names for {} columns", names.size(), layout.columns.size()),
        sidecar, "write one name a line, as many as the array has columns");
  }
  for (size_t i = 0; i < names.size(); ++i) layout.columns[i].name = names[i];
  return {};
}

base::Result<int64_t> AddMatrix(const record::MappedArray& array,
                                const std::string& name, const std::string& path,
                                std::vector<Matrix>& parts, Table& layout) {
  const auto& shape = array.shape();
  const bool wide = shape.size() == 2;
  if ((!wide && shape.size() != 1) || (wide && (shape[1] < 1 || shape[1] > 1000000))) {
    return Fail("DATA-0308", ExitCode::kInput,
                fmt::format("shape [{}] is no matrix of rows and columns",
                            fmt::join(shape, ", ")),
                name.empty() ? path : path + ": " + name,
                "a table needs a 2-d array; maps are read by `data audit` and `train` "
                "as a folder");
  }
  const int64_t width = wide ? shape[1] : 1;
  for (int64_t c = 0; c < width; ++c) {
    Column& column = layout.columns.emplace_back();
    column.name = name.empty() ? fmt::format("c{}", c)
                  : wide       ? fmt::format("{}.c{}", name, c)
                               : name;
  }
  parts.push_back({array, width});
  return shape[0];
}

}  // namespace

base::Result<std::unique_ptr<FileSource>> OpenArrayTable(const std::string& path,
                                                         int64_t batch_rows) {
  std::vector<Matrix> parts;
  Table layout;
  layout.source = path;
  int64_t rows = -1;
  if (path.ends_with(".npy")) {
    SS_TRY(const auto array, record::MapNpy(path));
    SS_TRY(rows, AddMatrix(array, "", path, parts, layout));
  } else {
    SS_TRY(const auto arrays, record::MapNpz(path));
    for (const auto& [name, array] : arrays) {
      SS_TRY(const int64_t here, AddMatrix(array, name, path, parts, layout));
      if (rows >= 0 && here != rows) {
        return Fail("DATA-0310", ExitCode::kInput,
                    fmt::format("\"{}\" has {} rows, the arrays before it {}", name,
                                here, rows),
                    path, "all arrays of a table have the same number of rows");
      }
      rows = here;
    }
  }
  SS_RETURN_IF_ERROR(NameColumns(path, layout));
  return std::make_unique<ArrayTable>(std::move(parts), std::move(layout), rows,
                                      batch_rows);
}

}  // namespace stepslack::data

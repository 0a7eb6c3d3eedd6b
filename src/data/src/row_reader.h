// Rows of text cells, from CSV or JSON, and the table source that types them.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "stepslack/base/result.h"
#include "stepslack/data/dataset_schema.h"
#include "stepslack/data/table_source.h"

namespace stepslack::data {

class RowReader {
 public:
  virtual ~RowReader() = default;
  virtual const std::vector<std::string>& names() const = 0;
  // One cell a name; the views live until the next call. False at the end.
  virtual base::Result<bool> Next(std::vector<std::string_view>& row) = 0;
  virtual base::Status Rewind() = 0;
};

base::Result<std::unique_ptr<RowReader>> OpenCsvRows(const std::string& path);
// Both for an array of records (or {"rows": [...]}) and, with `lines`, one a line.
base::Result<std::unique_ptr<RowReader>> OpenJsonRows(const std::string& path,
                                                      bool lines);

// A source whose kinds may still be changed, as a folder of several files needs it.
class FileSource : public TableSource {
 public:
  // Before the first Next(): that column is handed out as text.
  virtual void MakeText(size_t column) = 0;
};

// Reads all rows once to find the kinds.
base::Result<std::unique_ptr<FileSource>> TypeRows(
    std::unique_ptr<RowReader> rows, const std::string& path,
    const std::optional<DatasetSchema>& schema, int64_t batch_rows);
base::Result<std::unique_ptr<FileSource>> OpenArrayTable(const std::string& path,
                                                         int64_t batch_rows);

// Makes `batch` an empty one of that layout; its storage and texts stay when they are
// of that layout already.
void StartBatch(const Table& layout, Table& batch);

}  // namespace stepslack::data

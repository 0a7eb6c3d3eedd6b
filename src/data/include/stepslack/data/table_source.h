// Reads tables of samples in batches: CSV (.gz), JSON and JSON lines (.gz), .npy and
// .npz matrices, and folders of such files with equal columns. A file of text is read
// twice: the first pass decides over all rows which columns are numbers, the second
// hands them out, so memory follows the batch and the distinct texts, not the file.
//
// A cell is missing when it is empty, N/A, NA or null (not available), ERR (failed), or
// nan and inf (invalid). A column with any other cell that is no number is text.
// Errors: DATA-0300 to DATA-0318, BASE-0004, REC-000x.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "stepslack/base/result.h"
#include "stepslack/data/table.h"

namespace stepslack::data {

struct TableOptions {
  std::string schema;          // dataset.toml; empty: beside the data, else guessed
  int64_t batch_rows = 65536;  // most rows a batch
};

class TableSource {
 public:
  virtual ~TableSource() = default;
  // Names, kinds, units, roles and notes, without values; rows 0.
  virtual const Table& layout() const = 0;
  // Fills `batch` (its storage is used again); false at the end. Text codes mean the
  // same in every batch: `texts` only grows.
  virtual base::Result<bool> Next(Table& batch) = 0;
};

base::Result<std::unique_ptr<TableSource>> OpenTable(const std::string& path,
                                                     const TableOptions& options = {});
// The whole of it; for tables that fit into memory.
base::Result<Table> ReadTable(const std::string& path,
                              const TableOptions& options = {});

}  // namespace stepslack::data

// Reads tables of samples in batches: CSV (.gz), JSON and JSON lines (.gz), .npy and
// .npz matrices, HDF5, and folders of such files with equal columns.
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
  // Names, kinds, units and roles, without values; rows 0.
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

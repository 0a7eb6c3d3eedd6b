#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "row_reader.h"

namespace {

using stepslack::data::RowReader;
using stepslack::data::Table;

void ReadAll(std::unique_ptr<RowReader> rows, const std::string& path) {
  auto source = stepslack::data::TypeRows(std::move(rows), path, std::nullopt, 3);
  if (!source.has_value()) return;
  Table batch;
  while (true) {
    const auto any = (*source)->Next(batch);
    if (!any.has_value() || !*any) return;
    for (const auto& column : batch.columns) {
      const auto size = static_cast<size_t>(batch.rows);
      const bool text = column.kind == stepslack::data::ColumnKind::kText;
      SS_CHECK((text ? column.codes.size() : column.numbers.size()) == size);
      SS_CHECK(column.missing.empty() || column.missing.size() == size);
      for (const uint32_t code : column.codes) SS_CHECK(code < column.texts.size());
    }
  }
}

}  // namespace

// Any bytes give batches whose columns have one cell a row, or an error.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const int file = memfd_create("table", 0);
  if (file < 0) return 0;
  const bool written = write(file, data, size) == static_cast<ssize_t>(size);
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  auto rows = stepslack::data::OpenCsvRows(path);
  if (written && rows.has_value()) ReadAll(std::move(*rows), path);
  close(file);
  return 0;
}

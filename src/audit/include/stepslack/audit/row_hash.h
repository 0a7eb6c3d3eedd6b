// 64-bit hashes of rows (XXH3; not cryptographic): of float matrices straight from
// their memory, and of tables cell by cell, exact or canonical.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "stepslack/audit/duplicate_search.h"
#include "stepslack/base/result.h"
#include "stepslack/data/table.h"

namespace stepslack::audit {

enum class CellForm {
  kExact,  // every bit of a number, every byte of a text
  // Numbers rounded to five significant digits, -0 as 0; texts in lower case without
  // outer spaces.
  kCanonical
};

// One hash a row over the columns named by position. Missing cells hash by their kind.
std::vector<uint64_t> HashRows(const data::Table& table,
                               std::span<const int64_t> columns, CellForm form,
                               int threads = 1);

// Whether two rows hash from the same cells.
bool SameRow(const data::Table& table, std::span<const int64_t> columns, CellForm form,
             int64_t a, int64_t b);

// Rows of a row-major matrix; bytes are compared, so NaN equals the same NaN.
void HashRows(std::span<const float> values, int64_t columns, std::span<uint64_t> out);

// All duplicates of a row-major matrix that lies in memory or in a mapped file, in one
// pass over it.
base::Result<DuplicateGroups> FindDuplicateRows(std::span<const float> values,
                                                int64_t columns, int threads = 1,
                                                int64_t budget_bytes = int64_t{512}
                                                                       << 20);

uint64_t HashBytes(const void* bytes, size_t size, uint64_t seed = 0);

}  // namespace stepslack::audit

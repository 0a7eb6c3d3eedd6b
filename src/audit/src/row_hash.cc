#include "stepslack/audit/row_hash.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <string>

#define XXH_INLINE_ALL  // no library to link
#include <xxhash.h>

#include "stepslack/base/parallel.h"
#include "stepslack/data/table_cells.h"

namespace stepslack::audit {
namespace {

using data::Column;
using data::ColumnKind;
using data::Missing;

constexpr int64_t kRowsPerTask = 8192;
constexpr double kDigits = 5;  // of a canonical number

uint64_t NumberBits(double value, CellForm form) {
  if (std::isnan(value)) return 0x7ff8000000000000ULL;
  const auto bits = std::bit_cast<uint64_t>(value);
  if (form == CellForm::kExact || std::isinf(value)) return bits;
  if (value == 0) return 0;
  // Decimal, because files are rounded so: mantissa of five digits and exponent.
  double exponent = std::floor(std::log10(std::abs(value)));
  double mantissa = std::round(value / std::pow(10.0, exponent - kDigits + 1));
  if (std::abs(mantissa) >= std::pow(10.0, kDigits)) {
    mantissa /= 10;
    exponent += 1;
  }
  return std::bit_cast<uint64_t>(mantissa) ^
         (static_cast<uint64_t>(static_cast<int64_t>(exponent)) *
          0x9e3779b97f4a7c15ULL);
}

std::string CanonicalText(const std::string& text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) return "";
  const auto last = text.find_last_not_of(" \t\r\n");
  std::string out = text.substr(first, last - first + 1);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

// What a cell contributes: its value, or its kind of absence.
class ColumnCells {
 public:
  ColumnCells(const Column& column, CellForm form) : column_(column), form_(form) {
    for (const std::string& text : column.texts) {
      const std::string cell = form == CellForm::kExact ? text : CanonicalText(text);
      text_hash_.push_back(XXH3_64bits(cell.data(), cell.size()));
    }
  }

  uint64_t At(size_t row) const {
    const Missing missing = data::MissingAt(column_, static_cast<int64_t>(row));
    if (missing != Missing::kPresent) {
      return 0xfff8000000000000ULL + static_cast<uint64_t>(missing);
    }
    if (column_.kind == ColumnKind::kNumber) {
      return NumberBits(column_.numbers[row], form_);
    }
    return text_hash_[column_.codes[row]];
  }

 private:
  const Column& column_;
  CellForm form_;
  std::vector<uint64_t> text_hash_;
};

std::vector<ColumnCells> CellsOf(const data::Table& table,
                                 std::span<const int64_t> columns, CellForm form) {
  std::vector<ColumnCells> cells;
  cells.reserve(columns.size());
  for (const int64_t c : columns) cells.emplace_back(table.columns[size_t(c)], form);
  return cells;
}

}  // namespace

uint64_t HashBytes(const void* bytes, size_t size, uint64_t seed) {
  return XXH3_64bits_withSeed(bytes, size, seed);
}

std::vector<uint64_t> HashRows(const data::Table& table,
                               std::span<const int64_t> columns, CellForm form,
                               int threads) {
  const std::vector<ColumnCells> cells = CellsOf(table, columns, form);
  std::vector<uint64_t> out(size_t(table.rows));
  const size_t tasks = size_t((table.rows + kRowsPerTask - 1) / kRowsPerTask);
  base::ParallelFor(tasks, threads, [&](size_t task) {
    std::vector<uint64_t> row(cells.size());
    const size_t end = std::min(out.size(), (task + 1) * size_t{kRowsPerTask});
    for (size_t r = task * size_t{kRowsPerTask}; r < end; ++r) {
      for (size_t c = 0; c < cells.size(); ++c) row[c] = cells[c].At(r);
      out[r] = XXH3_64bits(row.data(), row.size() * sizeof(uint64_t));
    }
  });
  return out;
}

bool SameRow(const data::Table& table, std::span<const int64_t> columns, CellForm form,
             int64_t a, int64_t b) {
  const auto x = size_t(a);
  const auto y = size_t(b);
  for (const int64_t c : columns) {
    const Column& column = table.columns[size_t(c)];
    if (data::MissingAt(column, a) != data::MissingAt(column, b)) return false;
    if (data::MissingAt(column, a) != Missing::kPresent) continue;
    if (column.kind == ColumnKind::kNumber) {
      if (NumberBits(column.numbers[x], form) != NumberBits(column.numbers[y], form)) {
        return false;
      }
    } else if (column.codes[x] != column.codes[y]) {
      const std::string& s = column.texts[column.codes[x]];
      const std::string& t = column.texts[column.codes[y]];
      if (form == CellForm::kExact || CanonicalText(s) != CanonicalText(t)) {
        return false;
      }
    }
  }
  return true;
}

void HashRows(std::span<const float> values, int64_t columns, std::span<uint64_t> out) {
  const size_t bytes = size_t(columns) * sizeof(float);
  const float* row = values.data();
  for (uint64_t& hash : out) {
    hash = XXH3_64bits(row, bytes);
    row += columns;
  }
}

base::Result<DuplicateGroups> FindDuplicateRows(std::span<const float> values,
                                                int64_t columns, int threads,
                                                int64_t budget_bytes) {
  DuplicateSearch search(budget_bytes);
  if (columns <= 0) return search.Finish(threads);
  const auto rows = static_cast<int64_t>(values.size()) / columns;
  // Hashing in parallel by rounds of a few tasks; adding keeps the order of the rows.
  const int64_t round = kRowsPerTask * std::max(1, threads);
  std::vector<uint64_t> hashes;
  for (int64_t begin = 0; begin < rows; begin += round) {
    const int64_t count = std::min(round, rows - begin);
    hashes.resize(size_t(count));
    const auto tasks = size_t((count + kRowsPerTask - 1) / kRowsPerTask);
    base::ParallelFor(tasks, threads, [&](size_t task) {
      const int64_t first = int64_t(task) * kRowsPerTask;
      const int64_t n = std::min(kRowsPerTask, count - first);
      HashRows(values.subspan(size_t((begin + first) * columns), size_t(n * columns)),
               columns, std::span(hashes).subspan(size_t(first), size_t(n)));
    });
    SS_RETURN_IF_ERROR(search.Add(hashes));
  }
  return search.Finish(threads, [&](int64_t a, int64_t b) {
    return std::memcmp(values.data() + a * columns, values.data() + b * columns,
                       size_t(columns) * sizeof(float)) == 0;
  });
}

}  // namespace stepslack::audit

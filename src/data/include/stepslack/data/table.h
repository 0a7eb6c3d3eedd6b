// A table of samples: typed columns with units and roles, held by column. Readers hand
// it out in batches (table_source.h), so that a table may be larger than memory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stepslack::data {

enum class ColumnKind { kNumber, kText };

// What a column is for. Guessed from its name when no schema says so; a guess is noted.
enum class ColumnRole {
  kFeature,
  kLabel,
  kId,
  kGroup,   // leakage unit: design, family, project
  kTime,    // when the sample was made
  kSplit,   // "train", "validation", "test"
  kIgnored  // kept, but neither learned from nor audited as a feature
};

// Why a cell has no value. A failed stage is knowledge; an absent cell is not.
enum class Missing : uint8_t { kPresent = 0, kEmpty, kNotAvailable, kFailed, kInvalid };

struct Column {
  std::string name;
  std::string unit;  // "ps", "um2", "1"; "" when unknown
  ColumnKind kind = ColumnKind::kNumber;
  ColumnRole role = ColumnRole::kFeature;
  // Place of the flow stage that writes it, 0 the first; -1 unknown. A feature with a
  // later stage than the decision is a leak.
  int stage = -1;
  std::vector<double> numbers;          // kNumber: one a row, NaN where missing
  std::vector<uint32_t> codes;          // kText: one a row, position in `texts`
  std::vector<std::string> texts = {};  // kText: the distinct values, first seen first
  std::vector<Missing> missing;         // empty when every cell has a value
};

struct Table {
  std::string source;  // file or folder it was read from
  int64_t rows = 0;
  std::vector<Column> columns;  // in the order of the file; of JSON, by name
  // What was guessed, left out or promoted on the way, in plain words with counts.
  std::vector<std::string> notes = {};

  // The column of that name, or null.
  const Column* Find(std::string_view name) const;
  Column* Find(std::string_view name);
  // Positions of the columns with that role, in order.
  std::vector<int64_t> WithRole(ColumnRole role) const;
};

std::string_view ToString(ColumnRole role);  // "feature", "label", "id" ...

}  // namespace stepslack::data

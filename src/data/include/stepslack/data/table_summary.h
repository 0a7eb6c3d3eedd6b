// What a table or a folder of maps holds, in one page.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "stepslack/base/json.h"
#include "stepslack/base/result.h"
#include "stepslack/data/ingest.h"
#include "stepslack/data/table.h"

namespace stepslack::data {

struct ColumnSummary {
  std::string name;
  std::string unit;
  ColumnRole role = ColumnRole::kFeature;
  ColumnKind kind = ColumnKind::kNumber;
  std::map<Missing, int64_t> missing;  // reasons that occur
  int64_t present = 0;
  int64_t distinct = 0;  // values that are not missing
  // kNumber, NaN when no row has a value; of an even count the lower middle value.
  double low = 0, median = 0, high = 0;
  std::vector<std::string> examples;  // kText: the most frequent ones, with counts
};

struct TableSummary {
  std::string source;
  int64_t rows = 0;
  std::vector<ColumnSummary> columns;
  std::vector<std::string> notes;
};

TableSummary Summarize(const Table& table);
base::Json ToJson(const TableSummary& summary);
std::string Describe(const TableSummary& summary);

// Shapes with their counts, channels with their range, maps per group.
base::Json MapSummaryJson(const IngestResult& maps);
std::string DescribeMaps(const IngestResult& maps);

// Whether `path` is read as maps (IngestFolder) and not as a table: a folder whose maps
// can be told from tables by their layout. Errors: those of listing it.
base::Result<bool> HoldsMaps(const std::string& path);

}  // namespace stepslack::data

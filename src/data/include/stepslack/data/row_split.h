// Divides rows of a table, or maps, into training, validation and test. Nothing that
// stays together (a group) is divided, and the same seed gives the same parts whatever
// the order of the rows: units are ordered by a hash of their name with the seed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "stepslack/base/json.h"
#include "stepslack/base/result.h"
#include "stepslack/data/map_collection.h"
#include "stepslack/data/table.h"

namespace stepslack::data {

enum class RowPolicy {
  kGroup,       // whole groups in the order of their hash
  kTime,        // the latest rows are the test, those before them the validation
  kStratified,  // groups (or rows), each class of the label in the same shares
  kKFold,       // whole groups over K folds, the largest first into the emptiest
  kRandom       // rows; only to show what a leak would claim
};
std::string_view ToString(RowPolicy policy);

struct RowSplitOptions {
  RowPolicy policy = RowPolicy::kGroup;
  std::string group;  // column; "row": each row alone; empty: by role
  std::string label;  // kStratified; empty: by role
  std::string time;   // kTime; empty: by role
  uint64_t seed = 1;
  double test = 0.2;         // share of the rows, at least one unit; not for kKFold
  double validation = 0.15;  // 0: no such part
  int64_t folds = 5;
};

// What a sample is divided by. Texts; "" where it has none.
struct SplitItem {
  std::string id;
  std::string group;
  std::string stratum;
  double time = 0;
};

struct RowSplit {
  RowSplitOptions options;
  std::vector<SplitItem> items;  // sorted by id, row numbers by number
  std::vector<int> part;         // of each item: 0 train, 1 validation, 2 test
  std::vector<int> fold;         // kKFold: of each item, else empty
  int64_t groups = 0;
  std::vector<std::string> warnings;  // what makes its numbers too good
  std::vector<std::string> notes;
};

// DATA-0340, DATA-0341, DATA-0342 a share or the number of folds is out of range,
// DATA-0343 the policy needs a column that is not there, DATA-0344 rows without a time,
// DATA-0345 fewer groups than parts or folds (says how many there are).
base::Result<RowSplit> SplitRows(const Table& table, const RowSplitOptions& options);
// Maps by their id and group; kTime and kStratified need a table (DATA-0343).
base::Result<RowSplit> SplitMaps(const MapCollection& maps,
                                 const RowSplitOptions& options);

// Files that ReadSplitFile reads. With folds the part is that of division 0: its test
// is fold 0 and its validation fold 1 (see DivisionOf in split_file.h).
std::string CsvOf(const RowSplit& split);
base::Json ToJson(const RowSplit& split);
// Rows and groups of each part; warnings and notes.
std::string Describe(const RowSplit& split);
base::Json SummaryOf(const RowSplit& split);

}  // namespace stepslack::data

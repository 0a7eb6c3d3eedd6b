#include "stepslack/data/table_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>

#include "stepslack/base/text.h"
#include "stepslack/data/table_cells.h"

namespace stepslack::data {
namespace {

constexpr size_t kExamples = 5;

struct Pair {
  const Column* a;
  const Column* b;
};

std::vector<Pair> SharedColumns(const Table& a, const Table& b) {
  std::vector<Pair> shared;
  for (const Column& column : a.columns) {
    const Column* other = b.Find(column.name);
    if (other != nullptr) shared.push_back({&column, other});
  }
  return shared;
}

const char* KindText(const Column& column) {
  return column.kind == ColumnKind::kNumber ? "number" : "text";
}

void DiffSchemas(const Table& a, const Table& b, TableDiff& diff) {
  std::vector<std::string> order_a, order_b;
  for (const Column& column : b.columns) {
    if (a.Find(column.name) == nullptr) {
      diff.schema.push_back(fmt::format("column {} is new", column.name));
    } else {
      order_b.push_back(column.name);
    }
  }
  for (const Column& column : a.columns) {
    const Column* other = b.Find(column.name);
    if (other == nullptr) {
      diff.schema.push_back(fmt::format("column {} is gone", column.name));
      continue;
    }
    order_a.push_back(column.name);
    const auto tell = [&](const char* what, std::string_view was, std::string_view is) {
      if (was == is) return;
      diff.schema.push_back(
          fmt::format("{} of {} was \"{}\" and is \"{}\"", what, column.name, was, is));
    };
    tell("kind", KindText(column), KindText(*other));
    tell("unit", column.unit, other->unit);
    tell("role", ToString(column.role), ToString(other->role));
  }
  if (order_a != order_b) diff.schema.push_back("the order of the columns differs");
}

bool SameCell(const Pair& pair, int64_t row_a, int64_t row_b) {
  const Missing missing = MissingAt(*pair.a, row_a);
  if (missing != MissingAt(*pair.b, row_b)) return false;
  if (missing != Missing::kPresent) return true;
  if (pair.a->kind == ColumnKind::kNumber && pair.b->kind == ColumnKind::kNumber) {
    return pair.a->numbers[static_cast<size_t>(row_a)] ==
           pair.b->numbers[static_cast<size_t>(row_b)];
  }
  return CellText(*pair.a, row_a) == CellText(*pair.b, row_b);
}

void AddChange(const Pair& pair, int64_t row_a, int64_t row_b, const std::string& name,
               ColumnChange& change) {
  change.name = pair.a->name;
  const bool first = change.changed++ == 0;
  const bool had = MissingAt(*pair.a, row_a) == Missing::kPresent;
  const bool has = MissingAt(*pair.b, row_b) == Missing::kPresent;
  if (had && !has) ++change.gone_missing;
  if (!had && has) ++change.filled;
  double distance = 0;
  if (had && has && pair.a->kind == ColumnKind::kNumber &&
      pair.b->kind == ColumnKind::kNumber) {
    distance = std::fabs(pair.b->numbers[static_cast<size_t>(row_b)] -
                         pair.a->numbers[static_cast<size_t>(row_a)]);
  }
  if (!first && !(distance > change.largest)) return;
  change.largest = std::max(change.largest, distance);
  change.example =
      fmt::format("{}: {} -> {}", name, Shortened(CellText(*pair.a, row_a), 40),
                  Shortened(CellText(*pair.b, row_b), 40));
}

void AddExample(const std::string& text, std::vector<std::string>& examples) {
  if (examples.size() < kExamples) examples.push_back(text);
}

base::Status DiffByKey(const Table& a, const Table& b, TableDiff& diff) {
  SS_TRY(const RowIds ids_a, IdsOf(a, diff.key));
  SS_TRY(const RowIds ids_b, IdsOf(b, diff.key));
  const auto shared = SharedColumns(a, b);
  std::vector<ColumnChange> changes(shared.size());
  std::unordered_map<std::string, int64_t> places;
  for (int64_t row = 0; row < b.rows; ++row) {
    places[ids_b.ids[static_cast<size_t>(row)]] = row;
  }
  std::vector<bool> met(static_cast<size_t>(b.rows));
  for (int64_t row = 0; row < a.rows; ++row) {
    const std::string& id = ids_a.ids[static_cast<size_t>(row)];
    const auto found = places.find(id);
    if (found == places.end()) {
      ++diff.removed;
      AddExample(id, diff.removed_examples);
      continue;
    }
    met[static_cast<size_t>(found->second)] = true;
    bool same = true;
    for (size_t i = 0; i < shared.size(); ++i) {
      if (SameCell(shared[i], row, found->second)) continue;
      same = false;
      AddChange(shared[i], row, found->second, id, changes[i]);
    }
    ++(same ? diff.equal : diff.changed);
  }
  for (int64_t row = 0; row < b.rows; ++row) {
    if (met[static_cast<size_t>(row)]) continue;
    ++diff.added;
    AddExample(ids_b.ids[static_cast<size_t>(row)], diff.added_examples);
  }
  for (ColumnChange& change : changes) {
    if (change.changed > 0) diff.columns.push_back(std::move(change));
  }
  return {};
}

// All cells of a row, of the shared columns; a column of numbers on one side only is
// compared as text.
std::string ContentOf(const std::vector<Pair>& shared, bool of_a, int64_t row) {
  std::string key;
  for (const Pair& pair : shared) {
    AppendCsvCell(CellText(of_a ? *pair.a : *pair.b, row), false, key);
  }
  return key;
}

void DiffByContent(const Table& a, const Table& b, TableDiff& diff) {
  const auto shared = SharedColumns(a, b);
  std::unordered_map<std::string, std::vector<int64_t>> left;
  for (int64_t row = a.rows - 1; row >= 0; --row) {
    left[ContentOf(shared, true, row)].push_back(row);
  }
  for (int64_t row = 0; row < b.rows; ++row) {
    const auto found = left.find(ContentOf(shared, false, row));
    if (found != left.end() && !found->second.empty()) {
      found->second.pop_back();
      ++diff.equal;
      continue;
    }
    ++diff.added;
    AddExample(fmt::format("row {}", row), diff.added_examples);
  }
  std::vector<int64_t> gone;
  for (const auto& [content, rows] : left) {
    gone.insert(gone.end(), rows.begin(), rows.end());
  }
  std::ranges::sort(gone);
  diff.removed = static_cast<int64_t>(gone.size());
  for (const int64_t row : gone) {
    AddExample(fmt::format("row {}", row), diff.removed_examples);
  }
}

base::Json TextsJson(const std::vector<std::string>& texts) {
  base::Json json{base::Json::Array{}};
  for (const std::string& text : texts) json.Append(text);
  return json;
}

std::string SuchAs(const std::vector<std::string>& examples) {
  return examples.empty() ? "" : fmt::format(", such as {}", fmt::join(examples, ", "));
}

}  // namespace

base::Result<TableDiff> DiffTables(const Table& a, const Table& b,
                                   std::string_view key) {
  TableDiff diff;
  diff.a = a.source;
  diff.b = b.source;
  diff.rows_a = a.rows;
  diff.rows_b = b.rows;
  DiffSchemas(a, b, diff);
  diff.key = std::string(key);
  if (key.empty()) {
    SS_TRY(const Column* const id, ChooseColumn(a, "", ColumnRole::kId));
    if (id != nullptr && b.Find(id->name) != nullptr) diff.key = id->name;
  }
  if (diff.key.empty()) {
    DiffByContent(a, b, diff);
  } else {
    SS_RETURN_IF_ERROR(DiffByKey(a, b, diff));
  }
  return diff;
}

base::Json ToJson(const TableDiff& diff) {
  base::Json rows;
  rows.Set("a", diff.rows_a).Set("b", diff.rows_b).Set("equal", diff.equal);
  rows.Set("added", diff.added).Set("removed", diff.removed);
  rows.Set("changed", diff.changed);
  base::Json columns{base::Json::Array{}};
  for (const ColumnChange& change : diff.columns) {
    base::Json one;
    one.Set("name", change.name).Set("changed", change.changed);
    one.Set("largest_difference", change.largest);
    one.Set("gone_missing", change.gone_missing).Set("filled", change.filled);
    one.Set("example", change.example);
    columns.Append(std::move(one));
  }
  base::Json json;
  json.Set("schema", "stepslack.data_diff/1").Set("a", diff.a).Set("b", diff.b);
  json.Set("same", diff.same()).Set("key", diff.key);
  json.Set("schema_differences", TextsJson(diff.schema));
  json.Set("rows", std::move(rows));
  json.Set("columns", std::move(columns));
  json.Set("added_examples", TextsJson(diff.added_examples));
  json.Set("removed_examples", TextsJson(diff.removed_examples));
  return json;
}

std::string Describe(const TableDiff& diff) {
  std::string text = fmt::format("{} rows against {}, matched by {}: {}\n", diff.rows_a,
                                 diff.rows_b, diff.key.empty() ? "content" : diff.key,
                                 diff.same() ? "the same" : "they differ");
  for (const std::string& difference : diff.schema) text += "  " + difference + "\n";
  if (diff.same()) return text;
  text += fmt::format("  {} rows added{}\n", diff.added, SuchAs(diff.added_examples));
  text +=
      fmt::format("  {} rows removed{}\n", diff.removed, SuchAs(diff.removed_examples));
  if (diff.key.empty()) {
    return text + "note: without a key a changed row counts as removed and added\n";
  }
  text += fmt::format("  {} rows changed, {} equal\n", diff.changed, diff.equal);
  for (const ColumnChange& change : diff.columns) {
    text += fmt::format("  {}: {} cells, largest difference {}; {}\n", change.name,
                        change.changed, base::Human(change.largest), change.example);
  }
  return text;
}

}  // namespace stepslack::data

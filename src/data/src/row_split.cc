#include "stepslack/data/row_split.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "stepslack/base/random.h"
#include "stepslack/data/table_cells.h"

namespace stepslack::data {
namespace {

using base::ExitCode;
using base::Fail;

constexpr int kTrain = 0, kValidation = 1, kTest = 2;
constexpr size_t kMostClasses = 20;  // a number with more values is cut into quintiles

// What is not divided: the items of a group.
struct Unit {
  std::string name;
  std::vector<size_t> items;
  std::string stratum;
  uint64_t place = 0;
  int part = kTrain;
  int64_t size() const { return static_cast<int64_t>(items.size()); }
};

std::vector<Unit> UnitsOf(const std::vector<SplitItem>& items, bool rows,
                          uint64_t seed) {
  std::map<std::string, Unit> units;
  for (size_t i = 0; i < items.size(); ++i) {
    units[rows ? items[i].id : items[i].group].items.push_back(i);
  }
  std::vector<Unit> out;
  for (auto& [name, unit] : units) {
    unit.name = name;
    unit.place = base::DeriveSeed(seed, "row split " + name);
    std::map<std::string, int64_t> strata;
    for (const size_t i : unit.items) ++strata[items[i].stratum];
    unit.stratum = std::ranges::max_element(strata, {}, [](const auto& entry) {
                     return entry.second;
                   })->first;
    out.push_back(std::move(unit));
  }
  std::ranges::stable_sort(out, {}, &Unit::place);
  return out;
}

// Fills test, then validation, each with the units that bring it nearer to its share.
void Deal(std::vector<Unit*> units, const RowSplitOptions& options) {
  double total = 0, test = 0, validation = 0;
  for (const Unit* unit : units) total += static_cast<double>(unit->size());
  for (Unit* unit : units) {
    const auto size = static_cast<double>(unit->size());
    if (test + size / 2 <= options.test * total + 1e-9) {
      unit->part = kTest;
      test += size;
    } else if (validation + size / 2 <= options.validation * total + 1e-9) {
      unit->part = kValidation;
      validation += size;
    }
  }
}

// Every part that is wanted gets a unit: the smallest of the part with most units.
void FillEmptyParts(std::vector<Unit>& units, const RowSplitOptions& options) {
  for (const int part : {kTrain, kTest, kValidation}) {
    if (part == kValidation && options.validation == 0) continue;
    int64_t count[3] = {};
    for (const Unit& unit : units) ++count[unit.part];
    if (count[part] > 0) continue;
    const int from = static_cast<int>(std::max_element(count, count + 3) - count);
    Unit* least = nullptr;
    for (Unit& unit : units) {
      if (unit.part != from) continue;
      if (least == nullptr || unit.size() < least->size()) least = &unit;
    }
    if (least != nullptr) least->part = part;
  }
}

base::Status CheckOptions(const RowSplitOptions& options) {
  const bool shares = options.test > 0 && options.validation >= 0 &&
                      options.test + options.validation < 1;
  if (shares && options.folds >= 2 && options.folds <= 1000) return {};
  return Fail("DATA-0342", ExitCode::kUsage,
              "a share or the number of folds is out of range",
              fmt::format("test {}, validation {}, folds {}", options.test,
                          options.validation, options.folds),
              "the test needs a share above 0, test and validation less than 1 "
              "together; 2 to 1000 folds");
}

tl::unexpected<base::Error> NeedsColumn(const RowSplitOptions& options,
                                        std::string_view option,
                                        const std::string& where) {
  return Fail("DATA-0343", ExitCode::kUsage,
              fmt::format("the policy {} needs a column that is not known",
                          ToString(options.policy)),
              where,
              fmt::format("name it with {}{}", option,
                          option == "--group" ? " (\"row\": each row alone)" : ""));
}

base::Status CheckGroups(size_t groups, const RowSplitOptions& options,
                         const std::string& where) {
  const bool folds = options.policy == RowPolicy::kKFold;
  const int64_t wanted = folds ? options.folds : options.validation > 0 ? 3 : 2;
  if (static_cast<int64_t>(groups) >= wanted) return {};
  return Fail("DATA-0345", ExitCode::kInput,
              fmt::format("there are {} groups, but {} {} need one each at least",
                          groups, wanted, folds ? "folds" : "parts"),
              where,
              folds ? "ask for fewer folds, or group by something finer"
                    : "group by something finer, or leave out --validation (0)");
}

void DealByTime(RowSplit& split) {
  std::map<double, std::vector<size_t>, std::greater<>> times;
  for (size_t i = 0; i < split.items.size(); ++i) {
    times[split.items[i].time].push_back(i);
  }
  const auto total = static_cast<double>(split.items.size());
  const double shares[] = {split.options.test, split.options.validation};
  size_t cut = 0;
  double filled = 0;
  // Rows of one time stay together; the first time always goes to the test.
  for (const auto& [time, rows] : times) {
    const auto size = static_cast<double>(rows.size());
    while (cut < 2 && filled > 0 && filled + size / 2 > shares[cut] * total + 1e-9) {
      ++cut;
      filled = 0;
      if (cut == 1 && shares[1] > 0) break;
      if (cut == 1) cut = 2;
    }
    for (const size_t i : rows) split.part[i] = kTest - static_cast<int>(cut);
    filled += size;
  }
  std::map<std::string, std::set<int>> sides;
  for (size_t i = 0; i < split.items.size(); ++i) {
    if (!split.items[i].group.empty()) {
      sides[split.items[i].group].insert(split.part[i]);
    }
  }
  const auto both = std::ranges::count_if(
      sides, [](const auto& side) { return side.second.size() > 1; });
  if (both > 0) {
    split.warnings.push_back(
        fmt::format("{} of {} groups are in more than one part: the split guards "
                    "against the future, not against relatives",
                    both, sides.size()));
  }
}

base::Status CheckParts(const RowSplit& split, const std::string& where) {
  for (const int part : {kTrain, kTest}) {
    if (std::ranges::count(split.part, part) > 0) continue;
    return Fail(
        "DATA-0346", ExitCode::kInput,
        fmt::format("the {} part came out empty", part == kTrain ? "training" : "test"),
        where, "choose other shares, or divide by something finer");
  }
  return {};
}

base::Result<RowSplit> Divide(RowSplit split, bool rows, const std::string& where) {
  const RowSplitOptions& options = split.options;
  std::ranges::stable_sort(
      split.items, [](const SplitItem& a, const SplitItem& b) { return a.id < b.id; });
  split.part.assign(split.items.size(), kTrain);
  std::vector<Unit> units = UnitsOf(split.items, rows, options.seed);
  split.groups = static_cast<int64_t>(units.size());
  if (options.policy == RowPolicy::kTime) {
    std::set<double> times;
    for (const SplitItem& item : split.items) times.insert(item.time);
    SS_RETURN_IF_ERROR(CheckGroups(times.size(), options, where + ", distinct times"));
    DealByTime(split);
    SS_RETURN_IF_ERROR(CheckParts(split, where));
    return split;
  }
  SS_RETURN_IF_ERROR(CheckGroups(units.size(), options, where));
  if (options.policy == RowPolicy::kKFold) {
    std::ranges::stable_sort(units, std::greater<>(), &Unit::size);
    split.fold.resize(split.items.size());
    std::vector<int64_t> filled(static_cast<size_t>(options.folds));
    for (const Unit& unit : units) {
      const auto least = std::ranges::min_element(filled);
      *least += unit.size();
      const int fold = static_cast<int>(least - filled.begin());
      for (const size_t i : unit.items) {
        split.fold[i] = fold;
        split.part[i] = fold == 0                         ? kTest
                        : fold == 1 && options.folds >= 3 ? kValidation
                                                          : kTrain;
      }
    }
  } else {
    std::map<std::string, std::vector<Unit*>> strata;
    for (Unit& unit : units) strata[unit.stratum].push_back(&unit);
    for (auto& [stratum, members] : strata) Deal(members, options);
    FillEmptyParts(units, options);
    for (const Unit& unit : units) {
      for (const size_t i : unit.items) split.part[i] = unit.part;
    }
  }
  SS_RETURN_IF_ERROR(CheckParts(split, where));
  if (rows) {
    split.warnings.push_back(
        "single rows are drawn: relatives (of a design, a family) are on both sides, "
        "so what is measured on this test is too good for anything new");
  } else if (split.groups < 10) {
    split.notes.push_back(fmt::format(
        "only {} groups: intervals over groups will be wide", split.groups));
  }
  return split;
}

void AddStrata(const Table& table, const Column& label, RowSplit& split) {
  std::vector<double> sorted;
  for (const double value : label.numbers) {
    if (std::isfinite(value)) sorted.push_back(value);
  }
  std::ranges::sort(sorted);
  const std::set<double> distinct(sorted.begin(), sorted.end());
  const bool cut = distinct.size() > kMostClasses;
  for (int64_t row = 0; row < table.rows; ++row) {
    std::string& stratum = split.items[static_cast<size_t>(row)].stratum;
    stratum = CellText(label, row);
    if (!cut || MissingAt(label, row) != Missing::kPresent) continue;
    const auto below =
        std::ranges::lower_bound(sorted, label.numbers[static_cast<size_t>(row)]);
    const auto rank = static_cast<size_t>(below - sorted.begin());
    stratum = fmt::format("quintile {}", rank * 5 / sorted.size());
  }
  if (cut) {
    split.notes.push_back(fmt::format("{} has {} values: its quintiles are the classes",
                                      label.name, distinct.size()));
  }
}

base::Status AddTimes(const Table& table, const Column& time, RowSplit& split) {
  std::map<std::string, double> order;  // texts by alphabet, as ISO dates need it
  for (int64_t row = 0; row < table.rows; ++row) {
    if (time.kind == ColumnKind::kText) order[CellText(time, row)] = 0;
  }
  double next = 0;
  for (auto& [text, place] : order) place = next++;
  int64_t without = 0;
  for (int64_t row = 0; row < table.rows; ++row) {
    const auto at = static_cast<size_t>(row);
    if (MissingAt(time, row) != Missing::kPresent) ++without;
    split.items[at].time =
        time.kind == ColumnKind::kText ? order[CellText(time, row)] : time.numbers[at];
  }
  if (time.kind == ColumnKind::kText) {
    split.notes.push_back(
        fmt::format("{} is text, ordered as such: right for dates "
                    "like 2026-01-31",
                    time.name));
  }
  if (without == 0) return {};
  return Fail("DATA-0344", ExitCode::kInput,
              fmt::format("{} rows have no time", without),
              fmt::format("{}, column {}", table.source, time.name),
              "quarantine them with `data clean` (rule not_null)");
}

}  // namespace

std::string_view ToString(RowPolicy policy) {
  switch (policy) {
    case RowPolicy::kGroup:
      return "group";
    case RowPolicy::kTime:
      return "time";
    case RowPolicy::kStratified:
      return "stratified";
    case RowPolicy::kKFold:
      return "kfold";
    case RowPolicy::kRandom:
      return "random";
  }
  return "group";
}

base::Result<RowSplit> SplitRows(const Table& table, const RowSplitOptions& options) {
  SS_RETURN_IF_ERROR(CheckOptions(options));
  RowSplit split;
  split.options = options;
  const RowPolicy policy = options.policy;
  bool rows = policy == RowPolicy::kRandom || options.group == "row";
  const Column* group = nullptr;
  if (options.group != "row") {
    SS_TRY(group, ChooseColumn(table, options.group, ColumnRole::kGroup));
  }
  if (group == nullptr && !rows && policy != RowPolicy::kTime) {
    if (policy != RowPolicy::kStratified) {
      return NeedsColumn(options, "--group", table.source);
    }
    rows = true;
  }
  if (group != nullptr) split.options.group = group->name;
  SS_TRY(const RowIds ids, IdsOf(table));
  if (ids.column.empty()) {
    split.notes.push_back(
        "no id column: ids are row numbers from 0, so the file belongs to this order "
        "of "
        "rows");
  }
  int64_t without = 0;
  const int width = static_cast<int>(std::to_string(table.rows).size());
  for (int64_t row = 0; row < table.rows; ++row) {
    SplitItem& item = split.items.emplace_back();
    item.id = ids.ids[static_cast<size_t>(row)];
    // Zeros in front, for now, keep row numbers in their order.
    if (ids.column.empty()) item.id = fmt::format("{:0{}}", row, width);
    if (group == nullptr) continue;
    item.group = CellText(*group, row);
    if (MissingAt(*group, row) == Missing::kPresent) continue;
    item.group = "";
    ++without;
  }
  if (without > 0) {
    split.notes.push_back(
        fmt::format("{} rows without a group stay together as one", without));
  }
  if (policy == RowPolicy::kStratified) {
    SS_TRY(const Column* const label,
           ChooseColumn(table, options.label, ColumnRole::kLabel));
    if (label == nullptr) return NeedsColumn(options, "--label", table.source);
    split.options.label = label->name;
    AddStrata(table, *label, split);
  }
  if (policy == RowPolicy::kTime) {
    SS_TRY(const Column* const time,
           ChooseColumn(table, options.time, ColumnRole::kTime));
    if (time == nullptr) return NeedsColumn(options, "--time", table.source);
    split.options.time = time->name;
    SS_RETURN_IF_ERROR(AddTimes(table, *time, split));
  }
  SS_TRY(split, Divide(std::move(split), rows, table.source));
  if (!ids.column.empty()) return split;
  for (SplitItem& item : split.items) {
    item.id =
        item.id.substr(std::min(item.id.find_first_not_of('0'), item.id.size() - 1));
  }
  return split;
}

base::Result<RowSplit> SplitMaps(const MapCollection& maps,
                                 const RowSplitOptions& options) {
  SS_RETURN_IF_ERROR(CheckOptions(options));
  if (options.policy == RowPolicy::kTime || options.policy == RowPolicy::kStratified) {
    return NeedsColumn(options, "a table that has it", "maps");
  }
  RowSplit split;
  split.options = options;
  for (const WholeMap& map : maps.maps) {
    split.items.push_back({map.id, map.group, "", 0});
  }
  const bool rows = options.policy == RowPolicy::kRandom || options.group == "row";
  return Divide(std::move(split), rows, "maps");
}

}  // namespace stepslack::data

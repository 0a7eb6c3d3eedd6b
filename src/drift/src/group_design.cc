#include "group_design.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "stepslack/base/json.h"

namespace stepslack::drift {
namespace {

using base::ExitCode;

// Names of the groups of one table's rows.
base::Result<std::vector<std::string>> GroupNames(const data::Table& table,
                                                  const std::string& column) {
  const data::Column* group = table.Find(column);
  const auto fail = [&](std::string what) {
    return base::Fail("DRIFT-0002", ExitCode::kUsage, std::move(what),
                      fmt::format("{}, column {}", table.source, column),
                      "name a column that gives the group of every row, for example "
                      "the design or its family");
  };
  if (group == nullptr) return fail("there is no such column");
  std::vector<std::string> names;
  names.reserve(static_cast<size_t>(table.rows));
  int64_t without = 0;
  for (size_t i = 0; i < static_cast<size_t>(table.rows); ++i) {
    const bool number = group->kind == data::ColumnKind::kNumber;
    if ((!group->missing.empty() && group->missing[i] != data::Missing::kPresent) ||
        (number && std::isnan(group->numbers[i]))) {
      ++without;
      continue;
    }
    names.push_back(number ? base::FormatDouble(group->numbers[i])
                           : group->texts[group->codes[i]]);
  }
  if (without > 0) return fail(fmt::format("{} rows have no group", without));
  return names;
}

}  // namespace

base::Result<GroupDesign> GroupDesign::Of(const data::Table& reference,
                                          const data::Table& current,
                                          const std::string& column) {
  GroupDesign design;
  if (column.empty()) {
    int32_t cell = 0;
    for (int64_t i = 0; i < reference.rows; ++i, cell += 2) {
      design.reference_.push_back(static_cast<size_t>(cell / 2));
      design.reference_cells_.push_back(cell);
    }
    for (int64_t i = 0; i < current.rows; ++i, cell += 2) {
      design.current_.push_back(static_cast<size_t>(cell / 2));
      design.current_cells_.push_back(cell + 1);
    }
    design.groups_ = static_cast<size_t>(cell / 2);
    return design;
  }
  SS_TRY(const auto old_names, GroupNames(reference, column));
  SS_TRY(const auto new_names, GroupNames(current, column));
  std::map<std::string, int> sides;  // 1 reference, 2 current, 3 both; sorted
  for (const std::string& name : old_names) sides[name] |= 1;
  for (const std::string& name : new_names) sides[name] |= 2;
  std::map<std::string, int32_t> number;
  for (const auto& [name, side] : sides) {
    const size_t g = design.groups_++;
    number[name] = static_cast<int32_t>(2 * g);
    (side == 3   ? design.shared_
     : side == 1 ? design.reference_
                 : design.current_)
        .push_back(g);
  }
  for (const std::string& name : old_names) {
    design.reference_cells_.push_back(number[name]);
  }
  for (const std::string& name : new_names) {
    design.current_cells_.push_back(number[name] + 1);
  }
  return design;
}

double GroupDesign::Assignments() const {
  double total = std::pow(2.0, static_cast<double>(shared_.size()));
  const double n = static_cast<double>(reference_.size() + current_.size());
  const double k = static_cast<double>(std::min(reference_.size(), current_.size()));
  for (double i = 1; i <= k && std::isfinite(total); ++i) total *= (n - k + i) / i;
  return std::round(total);
}

double GroupDesign::LeastExactP() const {
  const bool mirrored = reference_.size() == current_.size();
  return std::min(1.0, (mirrored ? 2.0 : 1.0) / Assignments());
}

Sides GroupDesign::Observed() const {
  Sides sides(cells());
  for (size_t c = 0; c < sides.size(); ++c) sides[c] = static_cast<uint8_t>(c % 2);
  return sides;
}

std::vector<Sides> GroupDesign::Enumerate() const {
  std::vector<size_t> one_sided = reference_;
  one_sided.insert(one_sided.end(), current_.begin(), current_.end());
  // Which of them are current; sorted, so that next_permutation visits all.
  std::vector<uint8_t> is_current(one_sided.size(), 0);
  std::fill(is_current.begin() + static_cast<std::ptrdiff_t>(reference_.size()),
            is_current.end(), uint8_t{1});
  std::vector<Sides> out;
  do {
    Sides sides = Observed();
    for (size_t i = 0; i < one_sided.size(); ++i) {
      sides[2 * one_sided[i]] = sides[2 * one_sided[i] + 1] = is_current[i];
    }
    for (uint64_t flips = 0; flips < uint64_t{1} << shared_.size(); ++flips) {
      for (size_t i = 0; i < shared_.size(); ++i) {
        const auto flipped = static_cast<uint8_t>(flips >> i & 1);
        sides[2 * shared_[i]] = flipped;
        sides[2 * shared_[i] + 1] = static_cast<uint8_t>(1 - flipped);
      }
      out.push_back(sides);
    }
  } while (std::next_permutation(is_current.begin(), is_current.end()));
  return out;
}

Sides GroupDesign::Draw(base::Random& random) const {
  Sides sides = Observed();
  std::vector<size_t> one_sided = reference_;
  one_sided.insert(one_sided.end(), current_.begin(), current_.end());
  random.Shuffle(std::span(one_sided));
  for (size_t i = 0; i < one_sided.size(); ++i) {
    const auto side = static_cast<uint8_t>(i < reference_.size() ? 0 : 1);
    sides[2 * one_sided[i]] = sides[2 * one_sided[i] + 1] = side;
  }
  for (size_t group : shared_) {
    if (random.Below(2) == 1) std::swap(sides[2 * group], sides[2 * group + 1]);
  }
  return sides;
}

std::vector<double> GroupDesign::Resample(base::Random& random) const {
  std::vector<double> weight(cells(), 0.0);
  for (const std::vector<size_t>* part : {&reference_, &current_, &shared_}) {
    for (size_t i = 0; i < part->size(); ++i) {
      const size_t group = (*part)[random.Below(part->size())];
      weight[2 * group] += 1;
      weight[2 * group + 1] += 1;
    }
  }
  return weight;
}

}  // namespace stepslack::drift

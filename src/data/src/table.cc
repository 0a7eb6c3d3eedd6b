#include "stepslack/data/table.h"

#include <algorithm>

namespace stepslack::data {

const Column* Table::Find(std::string_view name) const {
  const auto found = std::ranges::find(columns, name, &Column::name);
  return found == columns.end() ? nullptr : &*found;
}

Column* Table::Find(std::string_view name) {
  const auto found = std::ranges::find(columns, name, &Column::name);
  return found == columns.end() ? nullptr : &*found;
}

std::vector<int64_t> Table::WithRole(ColumnRole role) const {
  std::vector<int64_t> positions;
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].role == role) positions.push_back(static_cast<int64_t>(i));
  }
  return positions;
}

std::string_view ToString(ColumnRole role) {
  switch (role) {
    case ColumnRole::kFeature:
      return "feature";
    case ColumnRole::kLabel:
      return "label";
    case ColumnRole::kId:
      return "id";
    case ColumnRole::kGroup:
      return "group";
    case ColumnRole::kTime:
      return "time";
    case ColumnRole::kSplit:
      return "split";
    case ColumnRole::kIgnored:
      return "ignored";
  }
  return "feature";
}

}  // namespace stepslack::data

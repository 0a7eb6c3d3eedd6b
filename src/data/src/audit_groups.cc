#include <fmt/format.h>

#include <map>
#include <numeric>
#include <set>

#include "dihedral.h"
#include "map_planes.h"
#include "stepslack/data/audit.h"

namespace stepslack::data {
namespace {

constexpr size_t kNamesShown = 4;

// Disjoint sets over group numbers.
class UnionFind {
 public:
  explicit UnionFind(size_t count) : parent_(count) {
    std::iota(parent_.begin(), parent_.end(), size_t{0});
  }
  size_t Root(size_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  // The smaller number becomes the root, so names sort the same however maps are
  // ordered.
  void Unite(size_t a, size_t b) {
    a = Root(a);
    b = Root(b);
    parent_[std::max(a, b)] = std::min(a, b);
  }

 private:
  std::vector<size_t> parent_;
};

std::string JoinedName(const std::vector<std::string>& members) {
  if (members.size() <= kNamesShown) return fmt::format("{}", fmt::join(members, "+"));
  const std::vector<std::string> first(members.begin(), members.begin() + kNamesShown);
  return fmt::format("{}+{} more", fmt::join(first, "+"), members.size() - kNamesShown);
}

}  // namespace

std::vector<GroupMerge> UniteGroups(MapCollection& collection,
                                    const AuditOptions& options) {
  const int current = CurrentChannel(collection.channels);
  if (current < 0) return {};
  std::map<std::string, size_t> number;
  for (const WholeMap& map : collection.maps) number[map.group];
  std::vector<std::string> names;
  for (auto& [name, index] : number) {
    index = names.size();
    names.push_back(name);
  }
  UnionFind sets(names.size());
  std::map<std::string, size_t> owner;  // hash of a current map to a group
  for (const WholeMap& map : collection.maps) {
    const auto& plane = map.channels[size_t(current)];
    if (IsConstant(plane)) continue;
    const std::string hash = options.unite_transformed
                                 ? InvariantHashOf({&plane}, map.height, map.width)
                                 : HashOf({&plane}, map.height, map.width);
    const size_t group = number.at(map.group);
    const auto [at, fresh] = owner.try_emplace(hash, group);
    if (!fresh) sets.Unite(at->second, group);
  }
  std::map<size_t, GroupMerge> merged;
  for (size_t i = 0; i < names.size(); ++i) {
    merged[sets.Root(i)].members.push_back(names[i]);
  }
  std::erase_if(merged,
                [](const auto& entry) { return entry.second.members.size() < 2; });
  std::vector<GroupMerge> out;
  for (auto& [root, merge] : merged) {
    merge.name = JoinedName(merge.members);
    out.push_back(merge);
  }
  for (WholeMap& map : collection.maps) {
    const auto found = merged.find(sets.Root(number.at(map.group)));
    if (found != merged.end()) map.group = found->second.name;
  }
  return out;
}

}  // namespace stepslack::data

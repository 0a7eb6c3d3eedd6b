#include "hang_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "stepslack/base/text.h"

namespace stepslack::analyze {
namespace {

using trace::FlightDump;
using trace::FlightEntry;
using trace::FlightGroup;
using trace::FlightStatus;

using StatusByName = std::map<std::string, FlightStatus, std::less<>>;

// Some versions list groups of the whole job, also those without this rank.
bool IsMember(const FlightGroup& group, int32_t rank) {
  return group.ranks.empty() ||
         std::binary_search(group.ranks.begin(), group.ranks.end(), rank);
}

// pg_status is keyed by a number of the rank, groups by a name of the job. Entries
// carry both. For groups without an entry the two are paired in order, since both count
// up as groups are made; but only when there are as many of each and no entry objects.
StatusByName StatusNames(const FlightDump& dump) {
  std::map<int64_t, std::string> name_of;
  for (const FlightEntry& entry : dump.entries) name_of[entry.pg_id] = entry.group_name;
  std::vector<std::pair<int64_t, std::string>> ordered;
  bool paired = true;
  for (const auto& [name, group] : dump.groups) {
    if (!IsMember(group, dump.rank)) continue;
    const std::optional<int64_t> number = base::ParseInt(name);
    paired = paired && number.has_value();
    ordered.emplace_back(number.value_or(0), name);
  }
  std::sort(ordered.begin(), ordered.end());
  paired = paired && ordered.size() == dump.status.size();
  size_t index = 0;
  for (const auto& [pg_id, status] : dump.status) {
    const auto known = name_of.find(pg_id);
    if (paired && known != name_of.end() && known->second != ordered[index].second) {
      paired = false;
    }
    ++index;
  }
  StatusByName by_name;
  index = 0;
  for (const auto& [pg_id, status] : dump.status) {
    const auto known = name_of.find(pg_id);
    if (known != name_of.end()) {
      by_name[known->second] = status;
    } else if (paired) {
      by_name[ordered[index].second] = status;
    }
    ++index;
  }
  return by_name;
}

class GroupCollector {
 public:
  GroupCollector(std::span<const FlightDump> dumps, int64_t world_size)
      : dumps_(dumps), world_size_(world_size) {}

  std::vector<HangGroup> Run() {
    for (const FlightDump& dump : dumps_) AddDump(dump);
    for (HangGroup& group : groups_) Finish(group);
    std::stable_sort(groups_.begin(), groups_.end(),
                     [](const HangGroup& a, const HangGroup& b) {
                       return NumberOf(a) < NumberOf(b);
                     });
    return std::move(groups_);
  }

 private:
  static int64_t NumberOf(const HangGroup& group) {
    return base::ParseInt(group.name).value_or(std::numeric_limits<int64_t>::max());
  }
  void AddDump(const FlightDump& dump);
  HangGroup& GroupOf(const std::string& name, const std::string& description,
                     std::vector<int32_t> ranks);
  void Finish(HangGroup& group);
  void FinishMember(const HangGroup& group, HangMember& member);

  std::span<const FlightDump> dumps_;
  int64_t world_size_;
  std::vector<HangGroup> groups_;
  std::map<std::string, size_t> index_;
  std::map<const FlightDump*, StatusByName> status_;
};

HangGroup& GroupCollector::GroupOf(const std::string& name,
                                   const std::string& description,
                                   std::vector<int32_t> ranks) {
  // The default group of old versions names no ranks: it is everybody.
  if (ranks.empty() && (name == "0" || description == "default_pg")) {
    for (int32_t rank = 0; rank < world_size_; ++rank) ranks.push_back(rank);
  }
  const std::string key = name + '\n' + fmt::format("{}", fmt::join(ranks, ","));
  const auto [found, added] = index_.try_emplace(key, groups_.size());
  if (added) {
    HangGroup& group = groups_.emplace_back();
    group.name = name;
    group.description = description;
    group.members_known = !ranks.empty();
    for (const int32_t rank : ranks) group.members[rank];
    group.ranks = std::move(ranks);
  }
  return groups_[found->second];
}

void GroupCollector::AddDump(const FlightDump& dump) {
  status_[&dump] = StatusNames(dump);
  std::map<std::string, size_t> own;  // of this rank, by name
  const auto remember = [&](HangGroup& group) {
    own[group.name] = static_cast<size_t>(&group - groups_.data());
    HangMember& member = group.members[dump.rank];
    member.dump = &dump;
    return own[group.name];
  };
  for (const auto& [name, group] : dump.groups) {
    if (!IsMember(group, dump.rank)) continue;
    remember(GroupOf(name, group.description, group.ranks));
  }
  for (const FlightEntry& entry : dump.entries) {
    const auto found = own.find(entry.group_name);
    const size_t index =
        found != own.end()
            ? found->second
            : remember(GroupOf(entry.group_name, entry.group_description, {}));
    HangGroup& group = groups_[index];
    HangMember& member = group.members[dump.rank];
    if (entry.is_p2p) {
      group.has_p2p = true;
      member.p2p.push_back(&entry);
    } else if (entry.collective_seq_id >= 0) {
      group.has_collectives = true;
      member.entries[entry.collective_seq_id].push_back(&entry);
    }
  }
}

void GroupCollector::Finish(HangGroup& group) {
  if (group.ranks.empty()) {
    for (const auto& [rank, member] : group.members) group.ranks.push_back(rank);
  }
  // When somebody first waited here: what a rank recorded before that is complete.
  int64_t first_pending_ns = std::numeric_limits<int64_t>::max();
  for (auto& [rank, member] : group.members) {
    if (member.dump == nullptr) continue;
    FinishMember(group, member);
    for (const auto& [sequence, entries] : member.entries) {
      if (!IsPending(*entries.front(), member.completed)) continue;
      first_pending_ns = std::min(first_pending_ns, entries.front()->time_created_ns);
    }
  }
  for (auto& [rank, member] : group.members) {
    if (member.dump == nullptr || member.has_record) continue;
    // No trace of the group. Its records may have been overwritten by later ones, and
    // then nothing is known; else it has entered nothing that others wait in.
    const std::vector<FlightEntry>& entries = member.dump->entries;
    const bool lost =
        !entries.empty() && entries.front().time_created_ns > first_pending_ns;
    if (lost) continue;
    member.entered = -1;
    member.p2p_entered = -1;
  }
}

void GroupCollector::FinishMember(const HangGroup& group, HangMember& member) {
  const auto raise = [](std::optional<int64_t>& value, int64_t candidate) {
    if (candidate >= 0) value = std::max(value.value_or(-1), candidate);
  };
  // Every entry carries both counters of its group.
  for (const auto& [sequence, entries] : member.entries) {
    raise(member.entered, sequence);
    for (const FlightEntry* entry : entries)
      raise(member.p2p_entered, entry->p2p_seq_id);
  }
  for (const FlightEntry* entry : member.p2p) {
    raise(member.entered, entry->collective_seq_id);
    raise(member.p2p_entered, entry->p2p_seq_id);
  }
  const StatusByName& by_name = status_[member.dump];
  const auto status = by_name.find(group.name);
  if (status != by_name.end()) {
    const FlightStatus& last = status->second;
    if (!group.has_p2p) {
      member.entered_from_status = last.last_enqueued > member.entered.value_or(-1);
      raise(member.entered, last.last_enqueued);
      member.completed = last.last_completed;
    }
    if (!group.has_collectives) {
      raise(member.p2p_entered, last.last_enqueued);
      member.p2p_completed = last.last_completed;
    }
  }
  member.has_record = member.entered.has_value() || member.p2p_entered.has_value();
  for (const auto& [sequence, entries] : member.entries) {
    for (const FlightEntry* entry : entries) {
      if (entry->state == trace::FlightState::kCompleted) {
        member.completed = std::max(member.completed, sequence);
      }
    }
  }
  for (const auto& [sequence, entries] : member.entries) {
    if (!IsPending(*entries.front(), member.completed)) continue;
    if (member.pending < 0) member.first_pending = sequence;
    member.pending = sequence;
  }
}

}  // namespace

bool IsPending(const FlightEntry& entry, int64_t last_completed) {
  if (entry.state == trace::FlightState::kCompleted || entry.completed_ns) return false;
  const int64_t sequence = entry.is_p2p ? entry.p2p_seq_id : entry.collective_seq_id;
  return sequence > last_completed;
}

std::vector<HangGroup> CollectGroups(std::span<const FlightDump> dumps,
                                     int64_t world_size) {
  return GroupCollector(dumps, world_size).Run();
}

std::optional<int32_t> PeerOf(const FlightEntry& entry, const HangGroup& group) {
  const bool send = entry.operation.starts_with("send ");
  if (!send && !entry.operation.starts_with("recv ")) return std::nullopt;
  const std::string_view pair = std::string_view(entry.operation).substr(5);
  const size_t arrow = pair.find(send ? "->" : "<-");
  if (arrow == std::string_view::npos) return std::nullopt;
  const std::optional<int64_t> peer = base::ParseInt(pair.substr(arrow + 2));
  if (!peer || *peer < 0 || *peer >= static_cast<int64_t>(group.ranks.size()) ||
      !group.members_known) {
    return std::nullopt;
  }
  return group.ranks[static_cast<size_t>(*peer)];
}

std::string SizesText(const std::vector<std::vector<int64_t>>& sizes) {
  std::string text;
  for (const std::vector<int64_t>& shape : sizes) {
    text += text.empty() ? "" : ", ";
    text += shape.empty() ? "scalar" : fmt::format("{}", fmt::join(shape, "x"));
  }
  return text;
}

std::string DtypesText(const std::vector<std::string>& dtypes) {
  return fmt::format("{}", fmt::join(dtypes, ", "));
}

std::string RanksText(const std::vector<int32_t>& ranks) {
  constexpr size_t kMost = 16;
  if (ranks.size() <= kMost) return fmt::format("{}", fmt::join(ranks, ", "));
  return fmt::format("{} and {} more",
                     fmt::join(ranks.begin(), ranks.begin() + kMost, ", "),
                     ranks.size() - kMost);
}

}  // namespace stepslack::analyze

#include "hang_findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "hang_groups.h"

namespace stepslack::analyze {
namespace {

using trace::FlightEntry;

struct Entered {
  int32_t rank = 0;
  const FlightEntry* entry = nullptr;
};

HangFinding Start(HangKind kind, const HangGroup& group) {
  HangFinding finding;
  finding.kind = kind;
  finding.group = group.name;
  finding.group_description = group.description;
  for (const auto& [rank, member] : group.members) {
    if (member.dump == nullptr) finding.unknown.push_back(rank);
  }
  return finding;
}

void Describe(const FlightEntry& entry, HangFinding& finding) {
  finding.operation = entry.operation;
  finding.sizes = SizesText(entry.input_sizes);
  finding.dtypes = DtypesText(entry.input_dtypes);
}

void Since(const FlightEntry& entry, HangFinding& finding) {
  if (entry.time_created_ns <= 0) return;
  finding.since_ns = finding.since_ns == 0
                         ? entry.time_created_ns
                         : std::min(finding.since_ns, entry.time_created_ns);
}

std::string GroupText(const HangGroup& group) {
  return group.description.empty()
             ? fmt::format("group {}", group.name)
             : fmt::format("group {} ({})", group.name, group.description);
}

std::string OperationText(const HangFinding& finding) {
  std::string text = finding.operation;
  if (!finding.sizes.empty()) text += ' ' + finding.sizes;
  if (!finding.dtypes.empty()) text += ' ' + finding.dtypes;
  return text;
}

// Operations whose members must all pass tensors of the same sizes. Others may differ
// by design (all_to_all with split sizes, gather and scatter, lists of tensors).
bool MustAgreeOnSizes(std::string_view operation) {
  for (const std::string_view name :
       {"all_reduce", "allreduce", "broadcast", "reduce", "_all_gather_base",
        "_reduce_scatter_base", "all_gather_into_tensor", "reduce_scatter_tensor"}) {
    if (operation == name) return true;
  }
  return false;
}

std::string KeyOf(HangKind kind, const FlightEntry& entry) {
  if (kind == HangKind::kOrderMismatch) return entry.operation;
  if (kind == HangKind::kDtypeMismatch) {
    // Only the root of a gather or scatter has the one or the other list.
    std::set<std::string> types(entry.input_dtypes.begin(), entry.input_dtypes.end());
    types.insert(entry.output_dtypes.begin(), entry.output_dtypes.end());
    return DtypesText({types.begin(), types.end()});
  }
  return SizesText(entry.input_sizes) + " to " + SizesText(entry.output_sizes);
}

// Splits by what `kind` looks at; no value when all agree.
std::optional<HangFinding> Compare(HangKind kind, const HangGroup& group,
                                   int64_t sequence,
                                   const std::vector<Entered>& entered) {
  std::map<std::string, std::vector<Entered>> classes;
  for (const Entered& one : entered) classes[KeyOf(kind, *one.entry)].push_back(one);
  if (classes.size() < 2) return std::nullopt;
  HangFinding finding = Start(kind, group);
  finding.sequence = sequence;
  const auto largest = std::max_element(
      classes.begin(), classes.end(),
      [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  const bool majority = largest->second.size() * 2 > entered.size();
  Describe(*largest->second.front().entry, finding);
  std::string list;
  for (auto it = classes.begin(); it != classes.end(); ++it) {
    std::vector<int32_t> ranks;
    for (const Entered& one : it->second) {
      ranks.push_back(one.rank);
      Since(*one.entry, finding);
    }
    list += fmt::format("{}{} on ranks {}", list.empty() ? "" : "; ", it->first,
                        RanksText(ranks));
    std::vector<int32_t>& to =
        majority && it == largest ? finding.others : finding.ranks;
    to.insert(to.end(), ranks.begin(), ranks.end());
  }
  std::sort(finding.ranks.begin(), finding.ranks.end());
  finding.evidence = fmt::format("{}: collective {} is {}{}", GroupText(group),
                                 sequence, list, majority ? "" : "; no majority");
  return finding;
}

// Whether the rank's operation is the one that the majority has one number later (or
// earlier): it left one out (or has one too many).
void AddShift(const HangGroup& group, HangFinding& finding) {
  if (finding.kind != HangKind::kOrderMismatch || finding.others.empty()) return;
  const HangMember& odd = group.members.at(finding.ranks.front());
  const HangMember& usual = group.members.at(finding.others.front());
  const auto operation = [](const HangMember& member, int64_t sequence) {
    const auto found = member.entries.find(sequence);
    return found == member.entries.end() ? std::string()
                                         : found->second.front()->operation;
  };
  const int64_t at = finding.sequence;
  if (operation(odd, at) == operation(usual, at + 1)) {
    finding.evidence += fmt::format(
        "; rank {} may have left one out: its operation is "
        "number {} of the others",
        finding.ranks.front(), at + 1);
  } else if (operation(odd, at + 1) == operation(usual, at)) {
    finding.evidence += fmt::format(
        "; rank {} may have one too many: its number {} is "
        "{} of the others",
        finding.ranks.front(), at + 1, at);
  }
}

// The entry of the lowest number from `sequence` on.
const FlightEntry* EntryFrom(const HangMember& member, int64_t sequence) {
  const auto found = member.entries.lower_bound(sequence);
  return found == member.entries.end() ? nullptr : found->second.front();
}

std::string LastText(const HangMember& member) {
  if (member.entered.value_or(-1) < 0) return "no record of the group";
  return fmt::format("last {}{}", *member.entered,
                     member.entered_from_status ? " by pg_status" : "");
}

HangFinding UnknownMember(const HangGroup& group, int64_t sequence) {
  HangFinding finding = Start(HangKind::kMissingRank, group);
  finding.sequence = sequence;
  for (const auto& [rank, member] : group.members) {
    if (member.dump != nullptr && !member.entered) finding.unknown.push_back(rank);
    if (member.pending < 0) continue;
    finding.others.push_back(rank);
    const FlightEntry* entry = EntryFrom(member, member.first_pending);
    if (entry == nullptr) continue;
    if (finding.operation.empty()) Describe(*entry, finding);
    Since(*entry, finding);
  }
  std::sort(finding.unknown.begin(), finding.unknown.end());
  finding.evidence = fmt::format(
      "{}: ranks {} wait in collective {} {}; whether ranks {} have entered it is not "
      "known",
      GroupText(group), RanksText(finding.others), sequence, OperationText(finding),
      RanksText(finding.unknown));
  return finding;
}

}  // namespace

std::optional<HangFinding> FindMismatch(const HangGroup& group) {
  std::map<int64_t, std::vector<Entered>> by_sequence;
  for (const auto& [rank, member] : group.members) {
    for (const auto& [sequence, entries] : member.entries) {
      // Coalesced operations share a number; their order within it is free.
      if (entries.size() == 1) by_sequence[sequence].push_back({rank, entries.front()});
    }
  }
  for (const auto& [sequence, entered] : by_sequence) {
    const bool pending =
        std::any_of(entered.begin(), entered.end(), [&group](const Entered& one) {
          return IsPending(*one.entry, group.members.at(one.rank).completed);
        });
    if (!pending) continue;
    auto finding = Compare(HangKind::kOrderMismatch, group, sequence, entered);
    if (!finding) finding = Compare(HangKind::kDtypeMismatch, group, sequence, entered);
    if (!finding && MustAgreeOnSizes(entered.front().entry->operation)) {
      finding = Compare(HangKind::kSizeMismatch, group, sequence, entered);
    }
    if (!finding) continue;
    AddShift(group, *finding);
    return finding;
  }
  return std::nullopt;
}

std::optional<HangFinding> FindMissing(const HangGroup& group, int64_t limit) {
  int64_t awaited = -1;              // highest collective that somebody waits in
  int64_t first_awaited = kNoLimit;  // lowest
  int64_t lowest = kNoLimit;         // that the slowest member has entered
  bool unknown = false;
  for (const auto& [rank, member] : group.members) {
    awaited = std::max(awaited, std::min(member.pending, limit - 1));
    if (member.first_pending >= 0) {
      first_awaited = std::min(first_awaited, member.first_pending);
    }
    if (member.entered) {
      lowest = std::min(lowest, *member.entered);
    } else {
      unknown = true;
    }
  }
  if (awaited < 0 || first_awaited >= limit) return std::nullopt;
  if (lowest >= awaited) {
    return unknown && group.members_known
               ? std::optional(UnknownMember(group, first_awaited))
               : std::nullopt;
  }
  HangFinding finding = Start(HangKind::kMissingRank, group);
  std::string last;
  const FlightEntry* first = nullptr;
  for (const auto& [rank, member] : group.members) {
    if (member.entered == lowest) {
      finding.ranks.push_back(rank);
      if (last.empty()) last = LastText(member);
    } else if (std::min(member.pending, limit - 1) > lowest) {
      finding.others.push_back(rank);
      const FlightEntry* entry = EntryFrom(member, lowest + 1);
      if (entry == nullptr) continue;
      Since(*entry, finding);
      if (first == nullptr || entry->collective_seq_id < first->collective_seq_id) {
        first = entry;
      }
    }
  }
  if (first == nullptr) return std::nullopt;
  Describe(*first, finding);
  // A member without any record counts from nothing; what is waited in has a number.
  finding.sequence = lowest < 0 ? first->collective_seq_id : lowest + 1;
  finding.evidence =
      fmt::format("{}: collective {} {} was entered by ranks {} and not by {} ({})",
                  GroupText(group), finding.sequence, OperationText(finding),
                  RanksText(finding.others), RanksText(finding.ranks), last);
  return finding;
}

std::optional<HangFinding> FindNotCompleted(const HangGroup& group) {
  int64_t sequence = kNoLimit;
  for (const auto& [rank, member] : group.members) {
    if (member.first_pending >= 0) sequence = std::min(sequence, member.first_pending);
  }
  if (sequence == kNoLimit) return std::nullopt;
  HangFinding finding = Start(HangKind::kNotCompleted, group);
  finding.sequence = sequence;
  for (const auto& [rank, member] : group.members) {
    if (member.completed >= sequence) {
      finding.others.push_back(rank);
    } else if (member.first_pending == sequence) {
      finding.ranks.push_back(rank);
      const FlightEntry* entry = EntryFrom(member, sequence);
      if (entry == nullptr) continue;
      if (finding.operation.empty()) Describe(*entry, finding);
      Since(*entry, finding);
    }
  }
  finding.evidence =
      finding.others.empty()
          ? fmt::format(
                "{}: collective {} {} is not finished on ranks {}, and known to "
                "be finished on none",
                GroupText(group), sequence, OperationText(finding),
                RanksText(finding.ranks))
          : fmt::format("{}: collective {} {} is finished on ranks {} and not on {}",
                        GroupText(group), sequence, OperationText(finding),
                        RanksText(finding.others), RanksText(finding.ranks));
  return finding;
}

std::vector<P2pWait> FindP2pWaits(const HangGroup& group) {
  std::map<std::pair<int32_t, int32_t>, P2pWait> waits;
  for (const auto& [rank, member] : group.members) {
    for (const FlightEntry* entry : member.p2p) {
      if (!IsPending(*entry, member.p2p_completed)) continue;
      const std::optional<int32_t> peer = PeerOf(*entry, group);
      if (!peer || *peer == rank || waits.contains({rank, *peer})) continue;
      const auto other = group.members.find(*peer);
      if (other == group.members.end()) continue;
      const std::optional<int64_t> entered = other->second.p2p_entered;
      if (entered && *entered >= entry->p2p_seq_id) continue;
      P2pWait wait{.from = rank, .to = *peer};
      // Numbers count the operations of a rank in the group with any peer, so only two
      // members that do nothing else there number them alike.
      wait.certain = entered && group.members.size() == 2 && !group.has_collectives;
      wait.finding = Start(HangKind::kMissingRank, group);
      wait.finding.is_p2p = true;
      wait.finding.sequence = entry->p2p_seq_id;
      wait.finding.others = {rank};
      (entered ? wait.finding.ranks : wait.finding.unknown) = {*peer};
      Describe(*entry, wait.finding);
      Since(*entry, wait.finding);
      wait.finding.evidence = fmt::format(
          "{}: rank {} waits in {} (number {}), rank {} {}", GroupText(group), rank,
          OperationText(wait.finding), entry->p2p_seq_id, *peer,
          entered ? fmt::format("is at number {}", *entered) : "is not known");
      waits.emplace(std::pair(rank, *peer), std::move(wait));
    }
  }
  std::vector<P2pWait> list;
  for (auto& [pair, wait] : waits) list.push_back(std::move(wait));
  return list;
}

}  // namespace stepslack::analyze

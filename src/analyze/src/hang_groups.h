// What each member of each process group has entered, put together from the dumps.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stepslack/trace/flight_recorder.h"

namespace stepslack::analyze {

using SequenceMap = std::map<int64_t, std::vector<const trace::FlightEntry*>>;

struct HangMember {
  const trace::FlightDump* dump = nullptr;  // null: no dump of this rank
  // Last collective entered; no value: cannot be told (no dump, or records lost).
  std::optional<int64_t> entered;
  std::optional<int64_t> p2p_entered;
  bool entered_from_status = false;
  bool has_record = false;  // an entry or a status of this group
  int64_t completed = -1;   // last collective known to be finished; -1: not known
  int64_t p2p_completed = -1;
  int64_t first_pending = -1;  // lowest collective entered and not finished; -1: none
  int64_t pending = -1;        // highest one
  SequenceMap entries;         // collectives by number
  std::vector<const trace::FlightEntry*> p2p;
};

struct HangGroup {
  std::string name;
  std::string description;
  std::map<int32_t, HangMember> members;  // by global rank
  std::vector<int32_t> ranks;             // order of the group: its own rank numbers
  bool members_known = false;  // from pg_config, so that absent members can be named
  bool has_p2p = false;
  bool has_collectives = false;
};

// True when the entry is not known to be finished.
bool IsPending(const trace::FlightEntry& entry, int64_t last_completed);

// Groups by name and members (names are counters of a process and may mean different
// groups on different ranks), in order of their numbers where names are numbers.
std::vector<HangGroup> CollectGroups(std::span<const trace::FlightDump> dumps,
                                     int64_t world_size);

// The peer of "send 0->1" and "recv 1<-0", as global rank.
std::optional<int32_t> PeerOf(const trace::FlightEntry& entry, const HangGroup& group);

std::string SizesText(const std::vector<std::vector<int64_t>>& sizes);
std::string DtypesText(const std::vector<std::string>& dtypes);
std::string RanksText(const std::vector<int32_t>& ranks);  // "9, 14"; long ones are cut

}  // namespace stepslack::analyze

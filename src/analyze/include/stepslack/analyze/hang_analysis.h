// Which rank keeps a hung job from going on, from the Flight Recorder dumps of its
// ranks.
//
// Method. Every process group numbers its collectives, so for each member the highest
// number it has entered is known (from its entries, and from pg_status where a group
// has no point-to-point operations). A rank that has entered collective k and not
// finished it waits for every member that has not entered k. Point-to-point operations
// wait for their peer likewise. These waits form a graph; a rank that others wait for
// and that waits for nobody itself is where the hang begins, all ranks from which such
// a rank is reached are its victims. This holds for a rank that never came (a locked
// interpreter: no pending entry at all) and for one that is stuck on its device
// (pending entries that all members have entered, and peers that have gone further).
//
// What the members have entered under one number must also be the same operation on the
// same sizes and types; where a strict majority agrees, the others are the ones blamed.
//
// It does not decide from pg_status alone (that lags for coalesced operations and would
// blame everybody), and not at all when a dump is missing that could change the answer.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stepslack/base/json.h"
#include "stepslack/base/result.h"
#include "stepslack/trace/flight_recorder.h"

namespace stepslack::analyze {

enum class HangKind {
  kMissingRank,    // members that have not entered what others wait in
  kOrderMismatch,  // different operations under one number
  kSizeMismatch,
  kDtypeMismatch,
  kNotCompleted,  // entered by all, finished by some or none
  kCircularWait   // ranks that wait for each other
};
std::string_view ToString(HangKind kind);

struct HangFinding {
  HangKind kind = HangKind::kMissingRank;
  std::string group;  // name; empty for kCircularWait
  std::string group_description;
  int64_t sequence = -1;  // of the collective, or of the point-to-point operation
  bool is_p2p = false;
  std::string operation;         // "all_to_all"
  std::string sizes;             // of the inputs, "2048x5120"
  std::string dtypes;            // of the inputs, "BFloat16"
  std::vector<int32_t> ranks;    // missing, or different from the majority; ascending
  std::vector<int32_t> others;   // that wait for them, or agree; ascending
  std::vector<int32_t> unknown;  // members without a dump
  int64_t since_ns = 0;          // when the first of `others` entered it; 0: not known
  bool root = false;             // false: follows from what another finding says
  std::string evidence;
};

enum class HangVerdict { kNoHang, kFound, kUndetermined };
std::string_view ToString(HangVerdict verdict);

struct HangAnalysis {
  HangVerdict verdict = HangVerdict::kNoHang;
  std::vector<int32_t> culprits;      // ascending; empty unless kFound
  std::vector<int32_t> suspects;      // when undetermined: who it may be
  std::vector<int32_t> victims;       // that wait for a culprit or suspect
  std::string reason;                 // one sentence; always set
  std::vector<HangFinding> findings;  // roots first, then by time
  int64_t dumps = 0;
  std::vector<int32_t> missing_dumps;  // ranks that groups name and no dump is from
};

struct HangOptions {
  int64_t world_size = 0;  // 0: the ranks that the groups name
};

// Cost: ranks times members for each group. Errors: TRACE-0130 (no dumps), TRACE-0131
// (a dump without a rank), TRACE-0132 (two dumps of one rank), TRACE-0133 (more than
// 16384 ranks).
base::Result<HangAnalysis> AnalyzeHang(std::span<const trace::FlightDump> dumps,
                                       const HangOptions& options = {});

base::Json ToJson(const HangAnalysis& analysis);

}  // namespace stepslack::analyze

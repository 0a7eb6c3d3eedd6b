// The same collective found on every rank that took part, split into the wait for the
// last arriver and the transfer after it.
//
// For rank r of a matched collective with spans [s_r, e_r) and last start L = max s_r:
//   wait_r     = min(L, e_r) - s_r
//   transfer_r = e_r - min(L, e_r)          so wait_r + transfer_r = e_r - s_r exactly
// The last arriver is the rank with the one largest s_r (nobody when two share it); the
// wait it caused is the sum of wait_r over the others.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "stepslack/base/json.h"
#include "stepslack/trace/event_store.h"

namespace stepslack::analyze {

struct CollectiveOnRank {
  int rank = 0;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  int64_t wait_ns = 0;
  int64_t transfer_ns = 0;
};

struct MatchedCollective {
  std::string name;   // "all_reduce"
  std::string group;  // process group
  int64_t seq = -1;   // in the group; by order of start when the trace has none
  int64_t bytes = 0;  // message of one rank, the largest
  int64_t group_size = 0;
  std::vector<CollectiveOnRank> ranks;  // ascending rank
  std::vector<int> arrival;             // ranks by start, ties by rank
  int last_rank = -1;                   // last arriver; -1: a tie
  int64_t last_start_ns = 0;
  int64_t last_end_ns = 0;
  int64_t end_skew_ns = 0;  // last end - first end
  int64_t wait_caused_ns = 0;
  bool acausal = false;  // some rank ended before the last one had started
};

struct UnmatchedSpan {
  int rank = 0;
  size_t event = 0;  // in the store of that rank
  size_t store = 0;  // index of the store
};

// How far the matching can be trusted. Invalid when nothing matched, or when more than
// MatchOptions::max_acausal_share of the matched ones break causality: then ranks were
// paired wrongly or their clocks differ, and no wait may be derived.
struct MatchingQuality {
  int64_t spans = 0;    // collective spans on all ranks
  int64_t matched = 0;  // collectives
  int64_t matched_spans = 0;
  int64_t unmatched_spans = 0;   // partner missing, key twice on a rank, names differ
  int64_t duplicate_spans = 0;   // part of unmatched: key twice on one rank
  int64_t mismatched_spans = 0;  // part of unmatched: ranks disagree on the operation
  int64_t matched_by_order = 0;  // collectives without a sequence number
  int64_t acausal = 0;
  int64_t size_mismatches = 0;  // matched, but ranks disagree on the bytes
  int64_t largest_end_skew_ns = 0;
  int64_t median_end_skew_ns = 0;  // lower median
  bool valid = false;
  std::string reason;  // why not, or what it rests on
};

struct MatchOptions {
  // A rank may seem to end this much before the last start (clock reading) without
  // harm.
  int64_t clock_tolerance_ns = 50'000;
  double max_acausal_share = 0.02;
};

struct CollectiveMatch {
  std::vector<MatchedCollective> collectives;  // by last start, then group and seq
  std::vector<UnmatchedSpan> unmatched;
  MatchingQuality quality;
};

// Keys are (group, seq). Spans without a sequence number are matched by their order
// within (group, operation), and only when every rank has equally many of them. A
// collective is complete with as many ranks as its group size says (without one: as the
// traces have). An event without rank belongs to the rank of its store's index. Groups
// of one rank are not communication and are left out of everything here.
CollectiveMatch MatchCollectives(std::span<const trace::EventStore> traces,
                                 const MatchOptions& options = {});

// Bytes over the bus per byte of message, for n ranks: 2 (n - 1) / n for an all-reduce,
// (n - 1) / n for gathers, scatters and all-to-all, else 1 (NCCL tests,
// PERFORMANCE.md).
double BusFactor(std::string_view name, int64_t ranks);

base::Json ToJson(const MatchingQuality& quality);

}  // namespace stepslack::analyze

// What ranks do to each other, from their reduced traces: the same collective found on
// every rank, clocks compared, and each rank's time in it split into the wait for the
// last arriver and the transfer after it. Formulas: docs/metrics.md.
//
// All times are int64 ns; those of CrossRank::collectives are on the common clock (the
// trace's own, less the applied offsets). Nothing is guessed: what can not be measured
// is absent, and `reasons` says why.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stepslack/analyze/collective_match.h"
#include "stepslack/analyze/rank_trace.h"
#include "stepslack/base/json.h"

namespace stepslack::analyze {

struct CrossRankOptions {
  // A clock offset is removed above this, and only when that repairs causality.
  int64_t apply_offset_above_ns = 50'000;
  // A rank may seem to end this much before the last start: the residual of the clocks,
  // within these bounds.
  int64_t min_tolerance_ns = 5'000;
  int64_t max_tolerance_ns = 50'000;
  // More refused than this share of the matched: nothing is measured.
  double max_refused_share = 0.10;
  // A lateness at the first collective that the late entry explains to this share
  // counts as inherited whole.
  double inherited_share = 0.9;
};

struct ClockOffset {
  int32_t rank = 0;
  // Clock of this rank minus the median clock of the ranks that collectives link it to.
  std::optional<int64_t> offset_ns;
  bool applied = false;
};

struct RankWaits {
  int32_t rank = 0;
  int64_t collectives = 0;
  int64_t times_last = 0;   // alone the last to arrive; a tie is nobody's
  int64_t times_first = 0;  // alone the first
  int64_t wait_ns = 0;
  int64_t transfer_ns = 0;     // wait + transfer = time in matched collectives
  int64_t wait_caused_ns = 0;  // wait of the others in those where it was last
  int64_t lateness_ns = 0;     // sum of own start minus first start
  // The part of lateness_ns that was there when the window began, and the part that
  // arose between leaving the previous collective (or entering the window) and
  // arriving.
  int64_t inherited_ns = 0;
  int64_t arisen_ns = 0;
};

// One matched collective; parallel to CrossRank::collectives.
struct CollectiveRow {
  int64_t start_skew_ns = 0;  // last start minus first start
  int64_t shortest_ns = 0;    // shortest duration over ranks: the transfer estimate
  // Of the last arriver (of the first of them by rank, in a tie):
  int64_t carried_ns = 0;  // late already when it left its previous collective
  int64_t arisen_ns = 0;   // became late since; carried + arisen = start_skew
  std::optional<double> algorithm_bandwidth_gbps;  // bytes / shortest_ns, 10^9 bytes/s
  std::optional<double> bus_bandwidth_gbps;        // times BusFactor
};

struct OperationRow {
  std::string op;
  int64_t spans = 0;
  int64_t matched = 0;   // accepted collectives
  int64_t bytes = 0;     // sum over spans of the message, where known
  int64_t total_ns = 0;  // sum of durations of all spans
  int64_t wait_ns = 0;   // over ranks, of accepted collectives
  int64_t transfer_ns = 0;
  int64_t max_start_skew_ns = 0;
  // Medians. Over spans and their own duration when `bandwidth_includes_waiting`, which
  // makes them lower bounds; else over collectives.
  std::optional<double> algorithm_bandwidth_gbps;
  std::optional<double> bus_bandwidth_gbps;
  bool bandwidth_includes_waiting = false;
};

struct WaitSummary {
  std::vector<RankWaits> by_rank;  // ascending rank
  int64_t wait_ns = 0;             // over ranks
  int64_t comm_ns = 0;             // over ranks: durations of accepted collectives
  // Sum over collectives of the shortest duration: what each rank would spend if all
  // arrived together (exact when every rank is in every collective).
  int64_t transfer_estimate_ns = 0;
  double wait_share = 0;  // wait_ns / comm_ns
  // 1 - (sum over collectives of ranks times shortest duration) / comm_ns.
  double wait_share_estimate = 0;
  int64_t median_start_skew_ns = 0;
  int64_t max_start_skew_ns = 0;
  int64_t first_skew_ns = 0;  // start skew of the first collective
  int64_t entry_skew_ns = 0;  // last arriver's entry into the window minus the first's
  int64_t inherited_skew_ns = 0;  // part of first_skew_ns that was there before
};

struct CrossRank {
  int64_t ranks = 0;
  int64_t world_size = 0;  // as the traces say; 0: they do not
  // Two ranks or more, each once, and as far as the traces say all of the world.
  bool all_ranks = false;
  int64_t spans = 0;             // of communication, groups of one rank left out
  int64_t matched = 0;           // collectives and send-receive pairs, refused ones too
  int64_t refused = 0;           // matched, but they break causality
  int64_t unmatched = 0;         // spans
  int64_t matched_by_order = 0;  // without a sequence number
  int64_t size_mismatches = 0;   // matched, but ranks disagree on the bytes
  std::map<std::string, int64_t> refused_by_reason;
  std::map<std::string, int64_t> unmatched_by_reason;

  std::vector<ClockOffset> clock_offsets;    // ascending rank
  std::optional<int64_t> clock_residual_ns;  // median spread of ends, as applied
  std::optional<int64_t> clock_residual_max_ns;
  int64_t clock_tolerance_ns = 0;  // that validity was judged with

  std::optional<WaitSummary> waits;
  std::vector<std::string> reasons;  // why `waits` is absent; else empty
  std::vector<OperationRow> by_op;   // by total time, longest first
  // Accepted collectives by last start; empty when `waits` is absent. A send-receive
  // pair has the name "send_recv".
  std::vector<MatchedCollective> collectives;
  std::vector<CollectiveRow> rows;

  // Subtract from a time of this rank to come to the common clock. 0 for other ranks.
  int64_t Correction(int32_t rank) const;
};

// Matching: (group, sequence number) where both are known, else order within (group,
// operation) when all ranks have equally many; sends and receives by (from, to, order)
// where the peer is known. A send_recv kernel without a peer is tried as one collective
// of all ranks (a grouped exchange) and left unmatched when it does not behave as one.
//
// A collective is refused when its ends lie further apart than the longest of it took,
// and, for operations that synchronise, when a rank ends before the last one starts.
// In operations that do not synchronise (broadcast, reduce, gather, scatter, send) a
// rank that ended before the last start did not wait for it.
//
// `waits` is absent with one rank, a rank twice, an unknown rank, ranks of the world
// missing, no matched collective, or more than max_refused_share refused.
// O(n log n) in the number of spans.
CrossRank MeasureCrossRank(std::span<const RankTrace> traces,
                           const CrossRankOptions& options = {});

// `max_rows`: collectives with the largest wait caused; the others are counted.
base::Json ToJson(const CrossRank& cross, size_t max_rows = 100);

}  // namespace stepslack::analyze

// Which spans of communication on different ranks are the same collective. The one
// implementation of matching: traces of own runs (collective_match.cc) and reduced
// traces of any source (cross_rank.cc) both come through here.
//
// A span with a sequence number has the key (group, number). Spans without one are
// numbered by their order within (group, operation) on each rank, and only when every
// rank of the group has equally many of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stepslack/analyze/collective_match.h"
#include "stepslack/trace/event_store.h"

namespace stepslack::analyze {

struct MatchSpan {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  int64_t seq = trace::kNoSeq;
  int64_t bytes = 0;
  int64_t group_size = 0;     // 0: not known, then all ranks
  trace::StringId group = 0;  // both in one pool for all ranks
  trace::StringId op = 0;
  int32_t rank = 0;
  uint32_t source = 0;  // the caller's: which store or trace,
  uint32_t event = 0;   // and which event in it
};

enum class MatchOutcome {
  kMatched,
  kIncomplete,  // partners missing
  kUneven,      // no sequence numbers, and ranks have different numbers of spans
  kDuplicate,   // a key twice on one rank
  kMismatched,  // ranks disagree on the operation
  kTooMany      // more ranks than the group has: several groups share the name
};

// Spans of one key: order[first], ..., order[first + count - 1].
struct SpanSet {
  size_t first = 0;
  size_t count = 0;
  MatchOutcome outcome = MatchOutcome::kMatched;
  bool by_order = false;
  int64_t seq = 0;  // the recorded number, or the position when by_order
};

struct SpanMatch {
  std::vector<uint32_t> order;  // every span once
  std::vector<SpanSet> sets;    // together all of `order`

  std::span<const uint32_t> Of(const SpanSet& set) const {
    return std::span(order).subspan(set.first, set.count);
  }
};

// `ranks`: how many ranks there are, the size of groups that do not say theirs.
// O(n log n); which spans end up together does not depend on their order.
SpanMatch MatchSpans(std::span<const MatchSpan> spans, size_t ranks);

// True for operations in which no rank can end before all have started.
bool Synchronises(std::string_view op);

// Fills everything that follows from the start_ns and end_ns of `collective.ranks`
// (sorted by rank here): waits, transfers, arrival, last arriver, end skew.
void SplitAtLastArrival(MatchedCollective& collective);

}  // namespace stepslack::analyze

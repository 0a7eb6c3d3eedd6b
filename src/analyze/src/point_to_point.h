// Sends paired with receives: the k-th send from a to b with the k-th receive of b from
// a, within one group, when both ranks have equally many.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "span_match.h"

namespace stepslack::analyze {

struct PeerSpan {
  MatchSpan span;
  int32_t peer = -1;  // the other rank
  // +1 sends to the peer, -1 receives from it, 0: the trace does not say which.
  int direction = 0;
};

struct PeerMatch {
  // Indices into the spans: sender (or lower rank when no side says) and receiver.
  std::vector<std::pair<uint32_t, uint32_t>> pairs;
  int64_t uneven = 0;  // spans whose two sides have different numbers of them
  int64_t alone = 0;   // spans whose other side has none
};

// O(n log n). Spans with a peer below 0 must not be given.
PeerMatch MatchPeers(std::span<const PeerSpan> spans);

}  // namespace stepslack::analyze

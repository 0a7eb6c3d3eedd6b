#include "point_to_point.h"

#include <algorithm>
#include <tuple>

namespace stepslack::analyze {
namespace {

// What the two sides of one connection have in common.
struct Channel {
  trace::StringId group;
  int32_t from;  // sender, or the lower rank
  int32_t to;
  bool directed;
  // clang-tidy 14 takes the defaulted comparison for a null pointer.
  // NOLINTNEXTLINE(modernize-use-nullptr)
  friend auto operator<=>(const Channel&, const Channel&) = default;
};

Channel ChannelOf(const PeerSpan& span) {
  int32_t from = span.span.rank;
  int32_t to = span.peer;
  if (span.direction < 0) std::swap(from, to);
  if (span.direction == 0 && from > to) std::swap(from, to);
  return {span.span.group, from, to, span.direction != 0};
}

}  // namespace

PeerMatch MatchPeers(std::span<const PeerSpan> spans) {
  struct Keyed {
    Channel channel;
    bool at_receiver;
    int64_t start_ns;
    uint32_t index;
  };
  std::vector<Keyed> keyed;
  keyed.reserve(spans.size());
  for (uint32_t i = 0; i < spans.size(); ++i) {
    const Channel channel = ChannelOf(spans[i]);
    keyed.push_back(
        {channel, spans[i].span.rank == channel.to, spans[i].span.start_ns, i});
  }
  std::sort(keyed.begin(), keyed.end(), [](const Keyed& a, const Keyed& b) {
    return std::tie(a.channel, a.at_receiver, a.start_ns, a.index) <
           std::tie(b.channel, b.at_receiver, b.start_ns, b.index);
  });
  PeerMatch match;
  for (size_t first = 0; first < keyed.size();) {
    size_t end = first;
    size_t sends = 0;
    while (end < keyed.size() && keyed[end].channel == keyed[first].channel) {
      sends += keyed[end].at_receiver ? 0 : 1;
      ++end;
    }
    const size_t receives = end - first - sends;
    if (sends == receives) {
      for (size_t k = 0; k < sends; ++k) {
        match.pairs.emplace_back(keyed[first + k].index,
                                 keyed[first + sends + k].index);
      }
    } else {
      (sends == 0 || receives == 0 ? match.alone : match.uneven) +=
          static_cast<int64_t>(end - first);
    }
    first = end;
  }
  return match;
}

}  // namespace stepslack::analyze

// Who sends what to whom in an all-reduce over messages, without any sending.
//
// ring: 2 (n - 1) steps of S / n bytes (Patarasu and Yuan, JPDC 69, 2009);
// halving_doubling: reduce-scatter by recursive halving, all-gather by recursive
// doubling; doubling: log2 n exchanges of everything (both: Thakur, Rabenseifner,
// Gropp, IJHPCA 19, 2005); tree: binomial reduce to rank 0 and broadcast back. Where n
// is no power of two, the first ranks of halving_doubling and doubling fold in pairs
// before and unfold after.
//
// Bits: every algorithm leaves the same bits on every rank. doubling and
// halving_doubling add every element in one order whatever its place in the buffer, and
// the same one: cutting a buffer into buckets, or choosing between the two, changes no
// bit. tree agrees with them where n is a power of two. ring does not: its order of
// summands differs from block to block.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

namespace stepslack::comm {

enum class AllReduceAlgorithm { kEngine, kRing, kHalvingDoubling, kDoubling, kTree };
// "engine" (the library's own), "ring", "halving_doubling", "doubling", "tree"; static.
std::string_view NameOf(AllReduceAlgorithm algorithm);
std::optional<AllReduceAlgorithm> AllReduceAlgorithmFrom(std::string_view name);

// Elements [begin, end) to or from a peer; nothing when they are none.
struct Move {
  int peer = -1;
  size_t begin = 0;
  size_t end = 0;
};

// A send may use what earlier rounds received; both of a round go on at once.
struct Round {
  Move send;
  Move receive;
  bool reduce = false;  // what is received is added, else it replaces
};

// The rounds of `rank`; not for kEngine. The k-th non-empty message that a rank sends
// to a peer is the k-th that the peer receives from it, and has the same elements.
std::vector<Round> AllReduceSchedule(AllReduceAlgorithm algorithm, int rank, int ranks,
                                     size_t count);

// Without measurements: doubling for two ranks (all the bytes that any algorithm sends,
// one latency) and up to 32 KiB; beyond that halving_doubling.
AllReduceAlgorithm UsualAllReduce(int ranks, size_t bytes);

}  // namespace stepslack::comm

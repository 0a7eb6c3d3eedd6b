#include "all_reduce_schedule.h"

#include <array>
#include <utility>

#include "stepslack/base/result.h"

namespace stepslack::comm {
namespace {

constexpr size_t kSmallBytes = size_t{32} << 10;

constexpr std::array<std::pair<AllReduceAlgorithm, std::string_view>, 5> kNames = {
    {{AllReduceAlgorithm::kEngine, "engine"},
     {AllReduceAlgorithm::kRing, "ring"},
     {AllReduceAlgorithm::kHalvingDoubling, "halving_doubling"},
     {AllReduceAlgorithm::kDoubling, "doubling"},
     {AllReduceAlgorithm::kTree, "tree"}}};

std::vector<Round> Ring(int rank, int ranks, size_t count) {
  const auto block = [&](int index) {
    const auto n = static_cast<size_t>(ranks);
    const auto b = static_cast<size_t>(((index % ranks) + ranks) % ranks);
    return std::pair(count * b / n, count * (b + 1) / n);
  };
  const int next = (rank + 1) % ranks;
  const int previous = (rank + ranks - 1) % ranks;
  std::vector<Round> rounds;
  for (const bool reduce : {true, false}) {
    // After the first half this rank owns block rank + 1.
    const int first = reduce ? rank : rank + 1;
    for (int step = 0; step + 1 < ranks; ++step) {
      const auto [send_begin, send_end] = block(first - step);
      const auto [begin, end] = block(first - step - 1);
      rounds.push_back({{next, send_begin, send_end}, {previous, begin, end}, reduce});
    }
  }
  return rounds;
}

std::vector<Round> Tree(int rank, int ranks, size_t count) {
  std::vector<Round> rounds;
  int mask = 1;
  for (; mask < ranks && (rank & mask) == 0; mask *= 2) {
    if (rank + mask < ranks) rounds.push_back({{}, {rank + mask, 0, count}, true});
  }
  if (rank != 0) {
    rounds.push_back({{rank - mask, 0, count}, {}, false});
    rounds.push_back({{}, {rank - mask, 0, count}, false});
  }
  for (mask /= 2; mask > 0; mask /= 2) {
    if (rank + mask < ranks) rounds.push_back({{rank + mask, 0, count}, {}, false});
  }
  return rounds;
}

// A power of two of ranks that work, and how they are called among themselves.
struct Folded {
  int working = 1;
  int extra = 0;   // pairs (2 k, 2 k + 1) of which the odd one works
  int place = -1;  // of this rank among those that work; -1: it only waits

  Folded(int rank, int ranks) {
    while (2 * working <= ranks) working *= 2;
    extra = ranks - working;
    if (rank >= 2 * extra) {
      place = rank - extra;
    } else if (rank % 2 == 1) {
      place = rank / 2;
    }
  }
  int RankAt(int at) const { return at < extra ? 2 * at + 1 : at + extra; }
};

std::vector<Round> Exchanges(const Folded& folded, size_t count, bool halves) {
  std::vector<Round> rounds;
  std::vector<Round> back;  // last one first
  size_t begin = 0;
  size_t end = count;
  // Neighbours first in both, so that both add in the same order.
  for (int distance = 1; distance < folded.working; distance *= 2) {
    const int peer = folded.RankAt(folded.place ^ distance);
    if (!halves) {
      rounds.push_back({{peer, 0, count}, {peer, 0, count}, true});
      continue;
    }
    const size_t middle = begin + (end - begin) / 2;
    Move keep{peer, begin, middle};
    Move give{peer, middle, end};
    if ((folded.place & distance) != 0) std::swap(keep, give);
    rounds.push_back({give, keep, true});
    back.push_back({keep, give, false});
    begin = keep.begin;
    end = keep.end;
  }
  rounds.insert(rounds.end(), back.rbegin(), back.rend());
  return rounds;
}

std::vector<Round> Folding(int rank, int ranks, size_t count, bool halves) {
  const Folded folded(rank, ranks);
  if (folded.place < 0) {
    return {{{rank + 1, 0, count}, {}, false}, {{}, {rank + 1, 0, count}, false}};
  }
  const bool paired = rank < 2 * folded.extra;
  std::vector<Round> rounds;
  if (paired) rounds.push_back({{}, {rank - 1, 0, count}, true});
  for (const Round& round : Exchanges(folded, count, halves)) rounds.push_back(round);
  if (paired) rounds.push_back({{rank - 1, 0, count}, {}, false});
  return rounds;
}

}  // namespace

std::string_view NameOf(AllReduceAlgorithm algorithm) {
  for (const auto& [known, name] : kNames) {
    if (known == algorithm) return name;
  }
  return "engine";
}

std::optional<AllReduceAlgorithm> AllReduceAlgorithmFrom(std::string_view name) {
  for (const auto& [algorithm, known] : kNames) {
    if (known == name) return algorithm;
  }
  return std::nullopt;
}

std::vector<Round> AllReduceSchedule(AllReduceAlgorithm algorithm, int rank, int ranks,
                                     size_t count) {
  SS_CHECK(algorithm != AllReduceAlgorithm::kEngine);
  if (ranks < 2 || count == 0) return {};
  if (algorithm == AllReduceAlgorithm::kRing) return Ring(rank, ranks, count);
  if (algorithm == AllReduceAlgorithm::kTree) return Tree(rank, ranks, count);
  return Folding(rank, ranks, count, algorithm == AllReduceAlgorithm::kHalvingDoubling);
}

AllReduceAlgorithm UsualAllReduce(int ranks, size_t bytes) {
  if (ranks == 2 || bytes <= kSmallBytes) return AllReduceAlgorithm::kDoubling;
  return AllReduceAlgorithm::kHalvingDoubling;
}

}  // namespace stepslack::comm

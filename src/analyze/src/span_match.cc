#include "span_match.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace stepslack::analyze {
namespace {

class SpanMatcher {
 public:
  SpanMatcher(std::span<const MatchSpan> spans, size_t ranks)
      : spans_(spans), ranks_(ranks) {}

  SpanMatch Run() {
    std::vector<uint32_t> numbered;
    std::vector<uint32_t> unnumbered;
    for (uint32_t i = 0; i < spans_.size(); ++i) {
      (spans_[i].seq != trace::kNoSeq ? numbered : unnumbered).push_back(i);
    }
    result_.order.reserve(spans_.size());
    MatchNumbered(numbered);
    MatchByOrder(unnumbered);
    return std::move(result_);
  }

 private:
  size_t Expected(std::span<const uint32_t> members) const {
    int64_t size = 0;
    for (const uint32_t i : members) size = std::max(size, spans_[i].group_size);
    return size > 0 ? static_cast<size_t>(size) : ranks_;
  }
  MatchOutcome Judge(std::span<const uint32_t> members) const;
  void Add(std::span<const uint32_t> members, bool by_order, int64_t seq,
           MatchOutcome outcome);
  void MatchNumbered(std::vector<uint32_t>& indices);
  void MatchByOrder(std::vector<uint32_t>& indices);
  void NumberOneClass(std::span<const uint32_t> members);

  std::span<const MatchSpan> spans_;
  size_t ranks_;
  SpanMatch result_;
};

// Members are sorted by rank.
MatchOutcome SpanMatcher::Judge(std::span<const uint32_t> members) const {
  bool same_op = true;
  for (size_t k = 1; k < members.size(); ++k) {
    const MatchSpan& before = spans_[members[k - 1]];
    const MatchSpan& here = spans_[members[k]];
    if (before.rank == here.rank) return MatchOutcome::kDuplicate;
    same_op = same_op && before.op == here.op;
  }
  const size_t expected = Expected(members);
  if (!same_op) return MatchOutcome::kMismatched;
  if (members.size() > expected) return MatchOutcome::kTooMany;
  return members.size() == expected ? MatchOutcome::kMatched
                                    : MatchOutcome::kIncomplete;
}

void SpanMatcher::Add(std::span<const uint32_t> members, bool by_order, int64_t seq,
                      MatchOutcome outcome) {
  result_.sets.push_back(
      {result_.order.size(), members.size(), outcome, by_order, seq});
  result_.order.insert(result_.order.end(), members.begin(), members.end());
}

void SpanMatcher::MatchNumbered(std::vector<uint32_t>& indices) {
  const auto key = [this](uint32_t i) {
    return std::tie(spans_[i].group, spans_[i].seq);
  };
  std::sort(indices.begin(), indices.end(), [&](uint32_t a, uint32_t b) {
    return std::tie(spans_[a].group, spans_[a].seq, spans_[a].rank, a) <
           std::tie(spans_[b].group, spans_[b].seq, spans_[b].rank, b);
  });
  for (size_t first = 0; first < indices.size();) {
    size_t end = first + 1;
    while (end < indices.size() && key(indices[end]) == key(indices[first])) ++end;
    const auto members = std::span(indices).subspan(first, end - first);
    Add(members, false, spans_[members.front()].seq, Judge(members));
    first = end;
  }
}

void SpanMatcher::MatchByOrder(std::vector<uint32_t>& indices) {
  const auto key = [this](uint32_t i) {
    return std::tie(spans_[i].group, spans_[i].op);
  };
  std::sort(indices.begin(), indices.end(), [&](uint32_t a, uint32_t b) {
    const MatchSpan& x = spans_[a];
    const MatchSpan& y = spans_[b];
    return std::tie(x.group, x.op, x.rank, x.start_ns, a) <
           std::tie(y.group, y.op, y.rank, y.start_ns, b);
  });
  for (size_t first = 0; first < indices.size();) {
    size_t end = first + 1;
    while (end < indices.size() && key(indices[end]) == key(indices[first])) ++end;
    NumberOneClass(std::span(indices).subspan(first, end - first));
    first = end;
  }
}

// Members of one (group, operation), sorted by rank and start: the k-th of every rank
// belong together if all ranks have equally many.
void SpanMatcher::NumberOneClass(std::span<const uint32_t> members) {
  std::vector<size_t> first_of_rank;
  for (size_t i = 0; i < members.size(); ++i) {
    if (i == 0 || spans_[members[i]].rank != spans_[members[i - 1]].rank) {
      first_of_rank.push_back(i);
    }
  }
  const size_t ranks = first_of_rank.size();
  const size_t each = members.size() / ranks;
  bool even = each * ranks == members.size();
  for (size_t r = 0; even && r < ranks; ++r) even = first_of_rank[r] == r * each;
  const size_t expected = Expected(members);
  if (!even || ranks != expected) {
    Add(members, true, 0,
        ranks > expected ? MatchOutcome::kTooMany
        : even           ? MatchOutcome::kIncomplete
                         : MatchOutcome::kUneven);
    return;
  }
  std::vector<uint32_t> together(ranks);
  for (size_t k = 0; k < each; ++k) {
    for (size_t r = 0; r < ranks; ++r) together[r] = members[r * each + k];
    // Too many for the size they state, though not for the class: they disagree on it.
    MatchOutcome outcome = Judge(together);
    if (outcome == MatchOutcome::kTooMany) outcome = MatchOutcome::kMismatched;
    Add(together, true, static_cast<int64_t>(k), outcome);
  }
}

}  // namespace

SpanMatch MatchSpans(std::span<const MatchSpan> spans, size_t ranks) {
  return SpanMatcher(spans, ranks).Run();
}

bool Synchronises(std::string_view op) {
  return op == "all_reduce" || op == "all_gather" || op == "reduce_scatter" ||
         op == "all_to_all" || op == "barrier";
}

void SplitAtLastArrival(MatchedCollective& collective) {
  std::vector<CollectiveOnRank>& ranks = collective.ranks;
  std::sort(ranks.begin(), ranks.end(),
            [](const auto& a, const auto& b) { return a.rank < b.rank; });
  int64_t first_end = ranks.front().end_ns;
  collective.last_start_ns = ranks.front().start_ns;
  collective.last_end_ns = first_end;
  for (const CollectiveOnRank& r : ranks) {
    collective.last_start_ns = std::max(collective.last_start_ns, r.start_ns);
    collective.last_end_ns = std::max(collective.last_end_ns, r.end_ns);
    first_end = std::min(first_end, r.end_ns);
  }
  collective.end_skew_ns = collective.last_end_ns - first_end;
  int late = 0;
  for (CollectiveOnRank& r : ranks) {
    const int64_t turn = std::min(collective.last_start_ns, r.end_ns);
    r.wait_ns = turn - r.start_ns;
    r.transfer_ns = r.end_ns - turn;
    if (r.start_ns == collective.last_start_ns) {
      collective.last_rank = r.rank;
      ++late;
    }
  }
  if (late > 1) collective.last_rank = -1;
  std::vector<std::pair<int64_t, int>> order;
  order.reserve(ranks.size());
  for (const CollectiveOnRank& r : ranks) order.emplace_back(r.start_ns, r.rank);
  std::sort(order.begin(), order.end());
  collective.arrival.clear();
  collective.arrival.reserve(order.size());
  for (const auto& [start, rank] : order) collective.arrival.push_back(rank);
  collective.wait_caused_ns = 0;
  for (const CollectiveOnRank& r : ranks) {
    if (r.rank != collective.last_rank) collective.wait_caused_ns += r.wait_ns;
  }
}

}  // namespace stepslack::analyze

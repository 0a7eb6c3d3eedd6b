#include "stepslack/analyze/collective_match.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace stepslack::analyze {
namespace {

struct Span {
  int rank = 0;
  size_t store = 0;
  size_t event = 0;
};

// Group, operation (empty when a sequence number identifies the collective), number.
using Key = std::tuple<std::string, std::string, int64_t>;

bool Synchronises(std::string_view name) {
  return name == "all_reduce" || name == "all_gather" || name == "reduce_scatter" ||
         name == "all_to_all" || name == "barrier";
}

class Matcher {
 public:
  Matcher(std::span<const trace::EventStore> traces, const MatchOptions& options)
      : traces_(traces), options_(options) {}

  CollectiveMatch Run() {
    Collect();
    NumberByOrder();
    for (const auto& [key, spans] : keyed_) MatchOne(key, spans);
    Finish();
    return std::move(result_);
  }

 private:
  const trace::CollectiveArgs& Args(const Span& span) const {
    const trace::EventStore& store = traces_[span.store];
    return store.collectives[static_cast<size_t>(store.collective[span.event])];
  }
  std::string_view Name(const Span& span) const {
    return traces_[span.store].strings.Get(Args(span).name);
  }
  int64_t Start(const Span& span) const {
    return traces_[span.store].start_ns[span.event];
  }
  int64_t End(const Span& span) const { return traces_[span.store].end_ns[span.event]; }

  void Collect();
  void NumberByOrder();
  void MatchOne(const Key& key, const std::vector<Span>& spans);
  MatchedCollective Build(const Key& key, const std::vector<Span>& spans);
  bool IsAcausal(const MatchedCollective& collective) const;
  void Unmatched(const std::vector<Span>& spans);
  size_t Expected(const std::vector<Span>& spans) const;
  void Finish();
  void Judge();

  std::span<const trace::EventStore> traces_;
  MatchOptions options_;
  std::set<int> ranks_;
  std::map<Key, std::vector<Span>> keyed_;
  // (group, operation) -> rank -> spans, for those without a sequence number
  std::map<std::pair<std::string, std::string>, std::map<int, std::vector<Span>>>
      unnumbered_;
  CollectiveMatch result_;
};

void Matcher::Collect() {
  std::vector<Span> all;
  for (size_t s = 0; s < traces_.size(); ++s) {
    const trace::EventStore& store = traces_[s];
    const int fallback = store.file_rank >= 0 ? store.file_rank : static_cast<int>(s);
    if (store.size() == 0) ranks_.insert(fallback);
    for (size_t i = 0; i < store.size(); ++i) {
      const int rank = store.rank[i] >= 0 ? store.rank[i] : fallback;
      ranks_.insert(rank);
      if (store.collective[i] != trace::kNoCollective) all.push_back({rank, s, i});
    }
  }
  for (const Span& span : all) {
    const trace::CollectiveArgs& args = Args(span);
    const int64_t size =
        args.group_size > 0 ? args.group_size : static_cast<int64_t>(ranks_.size());
    if (size <= 1) continue;
    ++result_.quality.spans;
    std::string group(traces_[span.store].strings.Get(args.group));
    if (args.seq != trace::kNoSeq) {
      keyed_[{std::move(group), "", args.seq}].push_back(span);
    } else {
      unnumbered_[{std::move(group), std::string(Name(span))}][span.rank].push_back(
          span);
    }
  }
}

size_t Matcher::Expected(const std::vector<Span>& spans) const {
  int64_t size = 0;
  for (const Span& span : spans) size = std::max(size, Args(span).group_size);
  return size > 0 ? static_cast<size_t>(size) : ranks_.size();
}

// Numbers spans by their order on each rank, where all ranks have equally many.
void Matcher::NumberByOrder() {
  for (auto& [key, by_rank] : unnumbered_) {
    const size_t count = by_rank.begin()->second.size();
    std::vector<Span> all;
    bool regular = true;
    for (auto& [rank, spans] : by_rank) {
      std::stable_sort(
          spans.begin(), spans.end(),
          [this](const Span& a, const Span& b) { return Start(a) < Start(b); });
      regular = regular && spans.size() == count;
      all.insert(all.end(), spans.begin(), spans.end());
    }
    if (!regular || by_rank.size() != Expected(all)) {
      Unmatched(all);
      continue;
    }
    for (size_t k = 0; k < count; ++k) {
      auto& spans = keyed_[{key.first, key.second, static_cast<int64_t>(k)}];
      for (const auto& [rank, of_rank] : by_rank) spans.push_back(of_rank[k]);
    }
  }
}

void Matcher::Unmatched(const std::vector<Span>& spans) {
  result_.quality.unmatched_spans += static_cast<int64_t>(spans.size());
  for (const Span& span : spans) {
    result_.unmatched.push_back({span.rank, span.event, span.store});
  }
}

void Matcher::MatchOne(const Key& key, const std::vector<Span>& spans) {
  const int64_t count = static_cast<int64_t>(spans.size());
  std::set<int> ranks;
  bool same_operation = true;
  for (const Span& span : spans) {
    ranks.insert(span.rank);
    same_operation = same_operation && Name(span) == Name(spans.front());
  }
  const size_t expected = Expected(spans);
  MatchingQuality& quality = result_.quality;
  if (ranks.size() != spans.size()) {
    quality.duplicate_spans += count;
  } else if (!same_operation || spans.size() > expected) {
    quality.mismatched_spans += count;
  } else if (spans.size() == expected) {
    result_.collectives.push_back(Build(key, spans));
    ++quality.matched;
    quality.matched_spans += count;
    if (!std::get<1>(key).empty()) ++quality.matched_by_order;
    return;
  }
  Unmatched(spans);
}

MatchedCollective Matcher::Build(const Key& key, const std::vector<Span>& spans) {
  MatchedCollective collective;
  collective.name = std::string(Name(spans.front()));
  collective.group = std::get<0>(key);
  collective.seq = std::get<2>(key);
  collective.group_size = static_cast<int64_t>(spans.size());
  int64_t first_end = End(spans.front());
  collective.last_start_ns = Start(spans.front());
  collective.last_end_ns = first_end;
  bool sizes_differ = false;
  for (const Span& span : spans) {
    collective.last_start_ns = std::max(collective.last_start_ns, Start(span));
    collective.last_end_ns = std::max(collective.last_end_ns, End(span));
    first_end = std::min(first_end, End(span));
    collective.bytes = std::max(collective.bytes, Args(span).bytes);
    sizes_differ = sizes_differ || Args(span).bytes != Args(spans.front()).bytes;
  }
  result_.quality.size_mismatches += sizes_differ ? 1 : 0;
  collective.end_skew_ns = collective.last_end_ns - first_end;
  int late = 0;
  for (const Span& span : spans) {
    const int64_t turn = std::min(collective.last_start_ns, End(span));
    collective.ranks.push_back(
        {span.rank, Start(span), End(span), turn - Start(span), End(span) - turn});
    if (Start(span) == collective.last_start_ns) {
      collective.last_rank = span.rank;
      ++late;
    }
  }
  if (late > 1) collective.last_rank = -1;
  std::sort(collective.ranks.begin(), collective.ranks.end(),
            [](const auto& a, const auto& b) { return a.rank < b.rank; });
  std::vector<CollectiveOnRank> order = collective.ranks;
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return a.start_ns < b.start_ns;
  });
  for (const CollectiveOnRank& r : order) collective.arrival.push_back(r.rank);
  for (const CollectiveOnRank& r : collective.ranks) {
    if (r.rank != collective.last_rank) collective.wait_caused_ns += r.wait_ns;
  }
  collective.acausal = IsAcausal(collective);
  return collective;
}

// A synchronising collective cannot end anywhere before it has started everywhere.
// Others can, but then their ends are not further apart than the longest of them is
// long.
bool Matcher::IsAcausal(const MatchedCollective& collective) const {
  int64_t longest = 0;
  int64_t earliest_end = collective.last_end_ns;
  for (const CollectiveOnRank& r : collective.ranks) {
    longest = std::max(longest, r.end_ns - r.start_ns);
    earliest_end = std::min(earliest_end, r.end_ns);
  }
  if (Synchronises(collective.name)) {
    return earliest_end + options_.clock_tolerance_ns < collective.last_start_ns;
  }
  return collective.end_skew_ns > longest + options_.clock_tolerance_ns;
}

void Matcher::Finish() {
  std::sort(result_.collectives.begin(), result_.collectives.end(),
            [](const MatchedCollective& a, const MatchedCollective& b) {
              return std::tie(a.last_start_ns, a.group, a.seq, a.name) <
                     std::tie(b.last_start_ns, b.group, b.seq, b.name);
            });
  std::sort(result_.unmatched.begin(), result_.unmatched.end(),
            [](const UnmatchedSpan& a, const UnmatchedSpan& b) {
              return std::tie(a.rank, a.store, a.event) <
                     std::tie(b.rank, b.store, b.event);
            });
  std::vector<int64_t> skews;
  for (const MatchedCollective& collective : result_.collectives) {
    result_.quality.acausal += collective.acausal ? 1 : 0;
    skews.push_back(collective.end_skew_ns);
  }
  if (!skews.empty()) {
    std::sort(skews.begin(), skews.end());
    result_.quality.largest_end_skew_ns = skews.back();
    result_.quality.median_end_skew_ns = skews[(skews.size() - 1) / 2];
  }
  Judge();
}

void Matcher::Judge() {
  MatchingQuality& quality = result_.quality;
  const double acausal_share =
      quality.matched > 0
          ? static_cast<double>(quality.acausal) / static_cast<double>(quality.matched)
          : 0;
  if (quality.spans == 0) {
    quality.reason = "no collective spans in the traces";
  } else if (quality.matched == 0) {
    quality.reason =
        fmt::format("none of {} collective spans has its partners (traces of {} ranks)",
                    quality.spans, ranks_.size());
  } else if (acausal_share > options_.max_acausal_share) {
    quality.reason = fmt::format(
        "{} of {} collectives end on one rank before they start on another: wrong "
        "pairs or "
        "clocks that differ",
        quality.acausal, quality.matched);
  } else {
    quality.valid = true;
    quality.reason = quality.matched_by_order > 0
                         ? "matched by order where no sequence number is recorded"
                         : "matched by process group and sequence number";
  }
}

}  // namespace

CollectiveMatch MatchCollectives(std::span<const trace::EventStore> traces,
                                 const MatchOptions& options) {
  return Matcher(traces, options).Run();
}

double BusFactor(std::string_view name, int64_t ranks) {
  if (ranks <= 0) return 0;
  const double n = static_cast<double>(ranks);
  if (name == "all_reduce") return 2 * (n - 1) / n;
  if (name == "all_gather" || name == "reduce_scatter" || name == "all_to_all" ||
      name == "gather" || name == "scatter") {
    return (n - 1) / n;
  }
  return 1;
}

base::Json ToJson(const MatchingQuality& quality) {
  base::Json json;
  json.Set("spans", quality.spans);
  json.Set("matched", quality.matched);
  json.Set("matched_spans", quality.matched_spans);
  json.Set("unmatched_spans", quality.unmatched_spans);
  json.Set("duplicate_spans", quality.duplicate_spans);
  json.Set("mismatched_spans", quality.mismatched_spans);
  json.Set("matched_by_order", quality.matched_by_order);
  json.Set("acausal", quality.acausal);
  json.Set("size_mismatches", quality.size_mismatches);
  json.Set("largest_end_skew_ns", quality.largest_end_skew_ns);
  json.Set("median_end_skew_ns", quality.median_end_skew_ns);
  json.Set("valid", quality.valid);
  json.Set("reason", quality.reason);
  return json;
}

}  // namespace stepslack::analyze

#include "stepslack/analyze/collective_match.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "span_match.h"

namespace stepslack::analyze {
namespace {

class Matcher {
 public:
  Matcher(std::span<const trace::EventStore> traces, const MatchOptions& options)
      : traces_(traces), options_(options) {}

  CollectiveMatch Run() {
    Collect();
    const SpanMatch match = MatchSpans(spans_, ranks_.size());
    for (const SpanSet& set : match.sets) TakeSet(set, match.Of(set));
    Finish();
    return std::move(result_);
  }

 private:
  void Collect();
  void TakeSet(const SpanSet& set, std::span<const uint32_t> members);
  MatchedCollective Build(const SpanSet& set, std::span<const uint32_t> members);
  bool IsAcausal(const MatchedCollective& collective) const;
  void Finish();
  void Judge();

  std::span<const trace::EventStore> traces_;
  MatchOptions options_;
  std::set<int> ranks_;
  trace::StringPool strings_;  // of all stores
  std::vector<MatchSpan> spans_;
  CollectiveMatch result_;
};

void Matcher::Collect() {
  std::vector<MatchSpan> all;
  for (size_t s = 0; s < traces_.size(); ++s) {
    const trace::EventStore& store = traces_[s];
    const int fallback = store.file_rank >= 0 ? store.file_rank : static_cast<int>(s);
    if (store.size() == 0) ranks_.insert(fallback);
    for (size_t i = 0; i < store.size(); ++i) {
      const int rank = store.rank[i] >= 0 ? store.rank[i] : fallback;
      ranks_.insert(rank);
      if (store.collective[i] == trace::kNoCollective) continue;
      const trace::CollectiveArgs& args =
          store.collectives[static_cast<size_t>(store.collective[i])];
      all.push_back({store.start_ns[i], store.end_ns[i], args.seq, args.bytes,
                     args.group_size, strings_.Intern(store.strings.Get(args.group)),
                     strings_.Intern(store.strings.Get(args.name)), rank,
                     static_cast<uint32_t>(s), static_cast<uint32_t>(i)});
    }
  }
  for (const MatchSpan& span : all) {
    const int64_t size =
        span.group_size > 0 ? span.group_size : static_cast<int64_t>(ranks_.size());
    if (size > 1) spans_.push_back(span);
  }
  result_.quality.spans = static_cast<int64_t>(spans_.size());
}

void Matcher::TakeSet(const SpanSet& set, std::span<const uint32_t> members) {
  const int64_t count = static_cast<int64_t>(members.size());
  MatchingQuality& quality = result_.quality;
  if (set.outcome == MatchOutcome::kMatched) {
    result_.collectives.push_back(Build(set, members));
    ++quality.matched;
    quality.matched_spans += count;
    if (set.by_order) ++quality.matched_by_order;
    return;
  }
  if (set.outcome == MatchOutcome::kDuplicate) quality.duplicate_spans += count;
  // A class that could not even be numbered has no pairs that could disagree.
  if (set.outcome == MatchOutcome::kMismatched ||
      (set.outcome == MatchOutcome::kTooMany && !set.by_order)) {
    quality.mismatched_spans += count;
  }
  quality.unmatched_spans += count;
  for (const uint32_t i : members) {
    result_.unmatched.push_back({spans_[i].rank, spans_[i].event, spans_[i].source});
  }
}

MatchedCollective Matcher::Build(const SpanSet& set,
                                 std::span<const uint32_t> members) {
  const MatchSpan& front = spans_[members.front()];
  MatchedCollective collective;
  collective.name = std::string(strings_.Get(front.op));
  collective.group = std::string(strings_.Get(front.group));
  collective.seq = set.seq;
  collective.group_size = static_cast<int64_t>(members.size());
  bool sizes_differ = false;
  for (const uint32_t i : members) {
    const MatchSpan& span = spans_[i];
    collective.bytes = std::max(collective.bytes, span.bytes);
    sizes_differ = sizes_differ || span.bytes != front.bytes;
    collective.ranks.push_back({span.rank, span.start_ns, span.end_ns, 0, 0});
  }
  result_.quality.size_mismatches += sizes_differ ? 1 : 0;
  SplitAtLastArrival(collective);
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

#include "stepslack/analyze/cross_rank.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "clock_offsets.h"
#include "cross_rank_waits.h"
#include "point_to_point.h"
#include "rank_activity.h"
#include "span_match.h"

namespace stepslack::analyze {
namespace {

// Spans further than this (9 years) from the middle rank's first are not of one run.
// Sums of a few such differences stay in range.
constexpr int64_t kTimeLimitNs = int64_t{1} << 61;
constexpr int64_t kRunLimitNs = int64_t{1} << 58;
constexpr size_t kMaxNamedRanks = 8;

enum class Kind {
  kSynchronising,  // nobody ends before all have started
  kGrouped,        // send_recv without peers: tried as kSynchronising
  kRooted,         // some ranks may end early
  kPair            // members are sender, receiver
};

struct Candidate {
  size_t first = 0;  // in members_
  size_t count = 0;
  Kind kind = Kind::kSynchronising;
  bool by_order = false;
  int64_t seq = 0;
  const char* refused = nullptr;  // reason
};

Kind KindOf(std::string_view op) {
  if (op == "send_recv") return Kind::kGrouped;
  if (op == "broadcast" || op == "reduce" || op == "gather" || op == "scatter") {
    return Kind::kRooted;
  }
  return Kind::kSynchronising;
}

const char* Unmatched(MatchOutcome outcome) {
  switch (outcome) {
    case MatchOutcome::kMatched:
    case MatchOutcome::kIncomplete:
      break;
    case MatchOutcome::kUneven:
      return "no sequence number, and ranks have different numbers of them";
    case MatchOutcome::kDuplicate:
      return "sequence number twice on one rank";
    case MatchOutcome::kMismatched:
      return "ranks disagree on the operation";
    case MatchOutcome::kTooMany:
      return "more ranks than the group has: groups share a name";
  }
  return "partners missing";
}

class Measurer {
 public:
  Measurer(std::span<const RankTrace> traces, const CrossRankOptions& options)
      : traces_(traces), options_(options) {}

  CrossRank Run() {
    const bool distinct = CheckRanks();
    result_.all_ranks = result_.reasons.empty();
    Collect();
    if (distinct) {
      MatchAll();
      CompareClocks();
      JudgeAll();
      CountMatched();
      CheckSteps();
      if (result_.reasons.empty()) Accept();
    }
    result_.by_op = RowsOfOperations(traces_, result_);
    return std::move(result_);
  }

 private:
  bool CheckRanks();
  void CheckWorld();
  void Collect();
  void FindOrigin();
  void CollectRank(size_t trace, uint32_t dense);
  void AddSpan(const CollectiveSpan& span, std::string_view op, MatchSpan& made);
  void MatchAll();
  void CompareClocks();
  void JudgeAll();
  const char* Judge(const Candidate& candidate) const;
  void CheckSteps();
  void DropUngrouped();
  void CountMatched();
  void Accept();
  MatchedCollective Build(const Candidate& candidate) const;
  void Unmatch(const char* reason, int64_t spans) {
    result_.unmatched += spans;
    result_.unmatched_by_reason[reason] += spans;
  }
  std::span<const MatchSpan> Of(const Candidate& candidate) const {
    return std::span(members_).subspan(candidate.first, candidate.count);
  }
  int64_t Correction(const MatchSpan& span) const { return corrections_[span.source]; }

  std::span<const RankTrace> traces_;
  CrossRankOptions options_;
  std::vector<int32_t> ranks_;    // ascending
  std::vector<size_t> trace_of_;  // dense rank -> trace
  trace::StringPool strings_;     // of all traces
  std::vector<MatchSpan> spans_;  // `source` is the dense rank
  std::vector<PeerSpan> peers_;
  std::vector<MatchSpan> members_;  // of candidates
  std::vector<Candidate> candidates_;
  int64_t origin_ns_ = 0;             // about where the run begins
  std::vector<int64_t> corrections_;  // by dense rank
  CrossRank result_;
};

// False when ranks can not even be told apart.
bool Measurer::CheckRanks() {
  result_.ranks = static_cast<int64_t>(traces_.size());
  std::vector<std::pair<int32_t, size_t>> by_rank;
  for (size_t i = 0; i < traces_.size(); ++i) by_rank.emplace_back(traces_[i].rank, i);
  std::sort(by_rank.begin(), by_rank.end());
  for (const auto& [rank, trace] : by_rank) {
    if (ranks_.empty() || ranks_.back() != rank) {
      ranks_.push_back(rank);
      trace_of_.push_back(trace);
    } else {
      result_.reasons.push_back(
          fmt::format("rank {} is in the input more than once", rank));
      if (result_.reasons.size() >= kMaxNamedRanks) break;
    }
  }
  if (!ranks_.empty() && ranks_.front() < 0) {
    result_.reasons.push_back("a trace does not say which rank it is");
  }
  const bool distinct = result_.reasons.empty();
  CheckWorld();
  return distinct && traces_.size() > 1;
}

void Measurer::CheckWorld() {
  if (traces_.size() <= 1) {
    result_.reasons.push_back(
        "one rank alone does not show who waited for whom; give the traces of all");
  }
  for (const RankTrace& trace : traces_) {
    if (trace.world_size <= 0 || trace.world_size == result_.world_size) continue;
    if (result_.world_size > 0) {
      result_.reasons.push_back(fmt::format("traces disagree on the world size: {}, {}",
                                            result_.world_size, trace.world_size));
      return;
    }
    result_.world_size = trace.world_size;
  }
  if (traces_.size() <= 1 || result_.world_size <= 0) return;
  int64_t missing = result_.world_size;
  for (const int32_t rank : ranks_) {
    missing -= rank >= 0 && rank < result_.world_size ? 1 : 0;
  }
  if (missing == 0) return;
  std::string named;
  size_t at = 0;
  size_t count = 0;
  for (int64_t r = 0; r < result_.world_size && count < kMaxNamedRanks; ++r) {
    while (at < ranks_.size() && ranks_[at] < r) ++at;
    if (at < ranks_.size() && ranks_[at] == r) continue;
    named += fmt::format("{}{}", count == 0 ? "" : ", ", r);
    ++count;
  }
  if (static_cast<int64_t>(count) < missing) named += ", ...";
  result_.reasons.push_back(fmt::format("traces of {} of {} ranks are missing: {}",
                                        missing, result_.world_size, named));
}

void Measurer::Collect() {
  size_t total = 0;
  for (const RankTrace& trace : traces_) total += trace.collectives.size();
  spans_.reserve(total);
  FindOrigin();
  for (uint32_t r = 0; r < ranks_.size(); ++r) CollectRank(trace_of_[r], r);
}

void Measurer::FindOrigin() {
  std::vector<int64_t> firsts;
  for (const size_t trace : trace_of_) {
    if (traces_[trace].collectives.empty()) continue;
    firsts.push_back(std::clamp(traces_[trace].collectives.front().start_ns,
                                -kTimeLimitNs, kTimeLimitNs));
  }
  if (!firsts.empty()) origin_ns_ = LowerMedian(firsts);
}

void Measurer::CollectRank(size_t trace, uint32_t dense) {
  const RankTrace& from = traces_[trace];
  std::unordered_map<trace::StringId, trace::StringId> ids;  // own to common
  const auto common = [&](trace::StringId id) {
    const auto [at, is_new] = ids.try_emplace(id, 0);
    if (is_new) at->second = strings_.Intern(from.strings.Get(id));
    return at->second;
  };
  for (uint32_t i = 0; i < from.collectives.size(); ++i) {
    const CollectiveSpan& span = from.collectives[i];
    if (span.group_size == 1) continue;
    ++result_.spans;
    if (span.end_ns < span.start_ns || span.start_ns < origin_ns_ - kRunLimitNs ||
        span.end_ns > origin_ns_ + kRunLimitNs) {
      Unmatch("time out of range", 1);
      continue;
    }
    MatchSpan made{
        span.start_ns,      span.end_ns,     span.seq,  span.bytes, span.group_size,
        common(span.group), common(span.op), from.rank, dense,      i};
    // A number counts within a group; without the group's name it identifies nothing.
    if (made.group == 0) made.seq = trace::kNoSeq;
    AddSpan(span, strings_.Get(made.op), made);
  }
}

void Measurer::AddSpan(const CollectiveSpan& span, std::string_view op,
                       MatchSpan& made) {
  const bool send = op == "send";
  const bool receive = op == "recv";
  const bool has_peer = span.peer >= 0 && span.peer != made.rank;
  if ((send || receive || op == "send_recv") && has_peer) {
    peers_.push_back({made, span.peer, send ? 1 : receive ? -1 : 0});
  } else if (send || receive) {
    Unmatch("the other rank of a send or receive is not known", 1);
  } else {
    spans_.push_back(made);
  }
}

void Measurer::MatchAll() {
  const SpanMatch match = MatchSpans(spans_, ranks_.size());
  members_.reserve(spans_.size() + peers_.size());
  for (const SpanSet& set : match.sets) {
    if (set.outcome != MatchOutcome::kMatched) {
      Unmatch(Unmatched(set.outcome), static_cast<int64_t>(set.count));
      continue;
    }
    const std::span<const uint32_t> indices = match.Of(set);
    candidates_.push_back({members_.size(), set.count,
                           KindOf(strings_.Get(spans_[indices.front()].op)),
                           set.by_order, set.seq, nullptr});
    for (const uint32_t i : indices) members_.push_back(spans_[i]);
  }
  const PeerMatch pairs = MatchPeers(peers_);
  int64_t number = 0;
  for (const auto& [sender, receiver] : pairs.pairs) {
    // Without a direction either may be the sender, and a sender may end early.
    const Kind kind = peers_[sender].direction != 0 ? Kind::kPair : Kind::kRooted;
    candidates_.push_back({members_.size(), 2, kind, true, number++, nullptr});
    members_.push_back(peers_[sender].span);
    members_.push_back(peers_[receiver].span);
  }
  if (pairs.uneven > 0) Unmatch("not as many sends as receives", pairs.uneven);
  if (pairs.alone > 0) Unmatch("partners missing", pairs.alone);
  spans_ = {};
  peers_ = {};
}

// Grouped exchanges count only where nothing surer is there: they may be no
// collectives.
void Measurer::CompareClocks() {
  ClockSamples samples;
  samples.ranks = ranks_.size();
  for (const Kind kind : {Kind::kSynchronising, Kind::kGrouped}) {
    for (const Candidate& candidate : candidates_) {
      if (candidate.kind != kind) continue;
      samples.first.push_back(samples.members.size());
      for (const MatchSpan& span : Of(candidate)) {
        samples.members.push_back(
            {span.source, span.start_ns - origin_ns_, span.end_ns - origin_ns_});
      }
    }
    if (!samples.members.empty()) break;
  }
  samples.first.push_back(samples.members.size());
  const ClockEstimate clocks =
      EstimateClocks(samples, {.apply_above_ns = options_.apply_offset_above_ns,
                               .tolerance_ns = options_.min_tolerance_ns});
  for (uint32_t r = 0; r < ranks_.size(); ++r) {
    result_.clock_offsets.push_back(
        {ranks_[r], clocks.offset_ns[r], clocks.applied[r]});
    corrections_.push_back(clocks.Correction(r));
  }
  result_.clock_residual_ns = clocks.residual_ns;
  result_.clock_residual_max_ns = clocks.residual_max_ns;
  result_.clock_tolerance_ns =
      std::clamp(clocks.residual_ns.value_or(0), options_.min_tolerance_ns,
                 std::max(options_.min_tolerance_ns, options_.max_tolerance_ns));
}

const char* Measurer::Judge(const Candidate& candidate) const {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  int64_t last_start = -kMax;
  int64_t first_end = kMax;
  int64_t last_end = -kMax;
  int64_t longest = 0;
  for (const MatchSpan& span : Of(candidate)) {
    last_start = std::max(last_start, span.start_ns - Correction(span));
    first_end = std::min(first_end, span.end_ns - Correction(span));
    last_end = std::max(last_end, span.end_ns - Correction(span));
    longest = std::max(longest, span.end_ns - span.start_ns);
  }
  const int64_t tolerance = result_.clock_tolerance_ns;
  if (candidate.kind == Kind::kPair) {
    const MatchSpan& sender = Of(candidate)[0];
    const MatchSpan& receiver = Of(candidate)[1];
    const bool late = receiver.end_ns - Correction(receiver) + tolerance <
                      sender.start_ns - Correction(sender);
    return late ? "received before it was sent" : nullptr;
  }
  if (candidate.kind != Kind::kRooted && first_end + tolerance < last_start) {
    return "a rank ends before the last one starts";
  }
  if (last_end - first_end > longest + tolerance) {
    return "ends lie further apart than the longest took";
  }
  return nullptr;
}

void Measurer::JudgeAll() {
  for (Candidate& candidate : candidates_) candidate.refused = Judge(candidate);
  DropUngrouped();
}

// send_recv kernels that do not behave as one exchange of all ranks are point to point
// messages whose peers the trace does not name.
void Measurer::DropUngrouped() {
  std::map<trace::StringId, std::pair<int64_t, int64_t>> of_group;  // refused, all
  for (const Candidate& candidate : candidates_) {
    if (candidate.kind != Kind::kGrouped) continue;
    auto& [refused, all] = of_group[members_[candidate.first].group];
    refused += candidate.refused != nullptr ? 1 : 0;
    ++all;
  }
  std::erase_if(candidates_, [&](const Candidate& candidate) {
    if (candidate.kind != Kind::kGrouped) return false;
    const auto& [refused, all] = of_group[members_[candidate.first].group];
    const bool drop = static_cast<double>(refused) >
                      options_.max_refused_share * static_cast<double>(all);
    if (drop) {
      Unmatch("the other rank of a send or receive is not known",
              static_cast<int64_t>(candidate.count));
    }
    return drop;
  });
}

void Measurer::CountMatched() {
  for (const Candidate& candidate : candidates_) {
    ++result_.matched;
    result_.matched_by_order += candidate.by_order ? 1 : 0;
    if (candidate.refused != nullptr) {
      ++result_.refused;
      ++result_.refused_by_reason[candidate.refused];
    }
    bool differ = false;
    for (const MatchSpan& span : Of(candidate)) {
      differ = differ || span.bytes != Of(candidate).front().bytes;
    }
    result_.size_mismatches += differ ? 1 : 0;
  }
  if (result_.spans == 0) {
    result_.reasons.push_back("no spans of communication between ranks");
  } else if (result_.matched == 0) {
    result_.reasons.push_back(
        fmt::format("none of {} spans of communication has its partners on the other "
                    "ranks",
                    result_.spans));
  } else if (static_cast<double>(result_.refused) >
             options_.max_refused_share * static_cast<double>(result_.matched)) {
    result_.reasons.push_back(fmt::format(
        "{} of {} matched collectives break causality: wrong partners, or clocks that "
        "drift",
        result_.refused, result_.matched));
  }
}

// Matching by order and unknown clocks together can hide that one rank was recorded
// some steps later: everything then fits, with a wrong offset. Numbered steps give it
// away.
void Measurer::CheckSteps() {
  const bool corrected = std::any_of(corrections_.begin(), corrections_.end(),
                                     [](int64_t c) { return c != 0; });
  if (result_.matched_by_order == 0 || !corrected) return;
  const RankWindows windows = WindowsOf(traces_, result_);
  if (!windows.steps || windows.traces[0]->step_source != StepSource::kProfilerStep) {
    return;
  }
  const double steps = static_cast<double>(windows.last_step) -
                       static_cast<double>(windows.first_step) + 1;
  std::vector<int64_t> starts;
  std::vector<int64_t> lengths;
  for (const trace::Interval& window : windows.windows) {
    const double length = static_cast<double>(window.end_ns - window.start_ns);
    starts.push_back(window.start_ns);
    lengths.push_back(static_cast<int64_t>(length / steps));
  }
  const int64_t middle = LowerMedian(starts);
  const int64_t half_step = LowerMedian(lengths) / 2;
  for (size_t r = 0; r < windows.windows.size(); ++r) {
    const int64_t start = windows.windows[r].start_ns;
    if (start >= middle - half_step && start <= middle + half_step) continue;
    result_.reasons.push_back(
        fmt::format("collectives without sequence numbers were matched by order, but "
                    "then step {} of "
                    "rank {} does not coincide with that of the other ranks",
                    windows.first_step, ranks_[r]));
    return;
  }
}

MatchedCollective Measurer::Build(const Candidate& candidate) const {
  const std::span<const MatchSpan> members = Of(candidate);
  MatchedCollective made;
  made.name = members.front().op == members.back().op
                  ? std::string(strings_.Get(members.front().op))
                  : "send_recv";
  made.group = std::string(strings_.Get(members.front().group));
  made.seq = candidate.seq;
  made.group_size = static_cast<int64_t>(members.size());
  made.ranks.reserve(members.size());
  for (const MatchSpan& span : members) {
    made.bytes = std::max(made.bytes, span.bytes);
    const int64_t correction = Correction(span);
    made.ranks.push_back(
        {span.rank, span.start_ns - correction, span.end_ns - correction, 0, 0});
  }
  SplitAtLastArrival(made);
  if (candidate.kind != Kind::kRooted && candidate.kind != Kind::kPair) return made;
  made.wait_caused_ns = 0;
  for (CollectiveOnRank& r : made.ranks) {
    if (r.end_ns < made.last_start_ns) {  // it did not need the last one to end
      r.transfer_ns += std::exchange(r.wait_ns, 0);
    }
    if (r.rank != made.last_rank) made.wait_caused_ns += r.wait_ns;
  }
  return made;
}

void Measurer::Accept() {
  result_.collectives.reserve(candidates_.size());
  for (const Candidate& candidate : candidates_) {
    if (candidate.refused == nullptr) result_.collectives.push_back(Build(candidate));
  }
  std::sort(result_.collectives.begin(), result_.collectives.end(),
            [](const MatchedCollective& a, const MatchedCollective& b) {
              return std::tie(a.last_start_ns, a.group, a.seq, a.name,
                              a.ranks.front().rank, a.ranks.back().rank) <
                     std::tie(b.last_start_ns, b.group, b.seq, b.name,
                              b.ranks.front().rank, b.ranks.back().rank);
            });
  const std::vector<int64_t> entries = EntryTimes(traces_, trace_of_, corrections_);
  SummariseWaits(ranks_, entries, options_.inherited_share, result_);
}

}  // namespace

int64_t CrossRank::Correction(int32_t rank) const {
  const auto at = std::lower_bound(
      clock_offsets.begin(), clock_offsets.end(), rank,
      [](const ClockOffset& offset, int32_t r) { return offset.rank < r; });
  const bool found = at != clock_offsets.end() && at->rank == rank && at->applied;
  return found ? *at->offset_ns : 0;
}

CrossRank MeasureCrossRank(std::span<const RankTrace> traces,
                           const CrossRankOptions& options) {
  return Measurer(traces, options).Run();
}

}  // namespace stepslack::analyze

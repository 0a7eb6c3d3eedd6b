#include "stepslack/analyze/critical_path.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "rank_activity.h"
#include "stepslack/base/result.h"

namespace stepslack::analyze {
namespace {

int64_t& PartOf(PathTimes& times, Activity kind) {
  switch (kind) {
    case Activity::kIdle:
      return times.idle_ns;
    case Activity::kCompute:
      return times.compute_ns;
    case Activity::kMemory:
      return times.memory_ns;
    case Activity::kTransfer:
      return times.transfer_ns;
    case Activity::kWait:
    case Activity::kOtherComm:
      break;
  }
  return times.unexplained_ns;
}

void Add(PathTimes& to, const PathTimes& from) {
  to.compute_ns += from.compute_ns;
  to.memory_ns += from.memory_ns;
  to.transfer_ns += from.transfer_ns;
  to.idle_ns += from.idle_ns;
  to.unexplained_ns += from.unexplained_ns;
}

class Walk {
 public:
  Walk(std::span<const RankTrace> traces, const CrossRank& cross)
      : cross_(cross),
        windows_(WindowsOf(traces, cross)),
        spans_(SpansByRank(windows_, cross)) {}

  CriticalPath Run(size_t max_segments) {
    for (size_t r = 1; r < windows_.windows.size(); ++r) {
      if (windows_.windows[r].end_ns > windows_.windows[rank_].end_ns) rank_ = r;
    }
    now_ns_ = windows_.windows[rank_].end_ns;
    path_.end_ns = now_ns_;
    Open(-1, nullptr);
    while (Step()) {
    }
    Close();
    path_.start_ns = now_ns_;
    Finish(max_segments);
    return std::move(path_);
  }

 private:
  bool Step();
  bool Jump(uint32_t collective);
  void Spend(int64_t from_ns, Activity kind);
  void Open(int32_t next_rank, const MatchedCollective* collective);
  void Close();
  void Finish(size_t max_segments);
  const std::vector<ActivityPiece>& Pieces(size_t rank);

  const CrossRank& cross_;
  RankWindows windows_;
  std::vector<std::vector<OwnSpan>> spans_;
  std::unordered_map<size_t, std::vector<ActivityPiece>> pieces_;  // of ranks met
  size_t rank_ = 0;
  int64_t now_ns_ = 0;
  std::vector<size_t> met_now_;  // ranks left by a jump at this very instant
  PathSegment segment_;
  CriticalPath path_;
};

const std::vector<ActivityPiece>& Walk::Pieces(size_t rank) {
  const auto [at, is_new] = pieces_.try_emplace(rank);
  if (is_new) {
    at->second = PiecesOf(*windows_.traces[rank], windows_.corrections[rank],
                          windows_.windows[rank], spans_[rank]);
  }
  return at->second;
}

// One piece, or one jump, further back. Either time decreases, or it stays and one more
// rank is marked as left at this instant: the walk can not go in a circle.
bool Walk::Step() {
  const trace::Interval window = windows_.windows[rank_];
  if (now_ns_ <= window.start_ns) return false;
  if (now_ns_ > window.end_ns) {
    Spend(window.end_ns, Activity::kOtherComm);
    return true;
  }
  const std::vector<ActivityPiece>& pieces = Pieces(rank_);
  const auto after = std::lower_bound(
      pieces.begin(), pieces.end(), now_ns_,
      [](const ActivityPiece& p, int64_t t) { return p.start_ns < t; });
  const ActivityPiece& piece = *std::prev(after);
  const bool released =
      piece.kind == Activity::kWait && piece.completes && piece.end_ns == now_ns_;
  if (released && Jump(piece.collective)) return true;
  Spend(piece.start_ns, piece.kind);
  return true;
}

bool Walk::Jump(uint32_t collective) {
  const MatchedCollective& of = cross_.collectives[collective];
  const auto last = std::find_if(
      of.ranks.begin(), of.ranks.end(),
      [&](const CollectiveOnRank& r) { return r.start_ns == of.last_start_ns; });
  const size_t to = windows_.Dense(last->rank);
  if (to == rank_ ||
      std::find(met_now_.begin(), met_now_.end(), to) != met_now_.end()) {
    return false;
  }
  met_now_.push_back(rank_);
  SS_CHECK(met_now_.size() <= windows_.windows.size());
  const int32_t waiter = windows_.traces[rank_]->rank;
  Close();
  ++path_.jumps;
  rank_ = to;
  Open(waiter, &of);
  return true;
}

void Walk::Spend(int64_t from_ns, Activity kind) {
  SS_CHECK(from_ns < now_ns_);
  PartOf(segment_.times, kind) += now_ns_ - from_ns;
  now_ns_ = from_ns;
  met_now_.clear();
}

void Walk::Open(int32_t next_rank, const MatchedCollective* collective) {
  segment_ = {};
  segment_.rank = windows_.traces[rank_]->rank;
  segment_.end_ns = now_ns_;
  segment_.next_rank = next_rank;
  if (collective == nullptr) return;
  segment_.op = collective->name;
  segment_.group = collective->group;
  segment_.seq = collective->seq;
}

void Walk::Close() {
  segment_.start_ns = now_ns_;
  path_.segments.push_back(std::move(segment_));
}

void Walk::Finish(size_t max_segments) {
  std::vector<PathSegment>& segments = path_.segments;
  std::reverse(segments.begin(), segments.end());
  std::map<int32_t, PathTimes> by_rank;
  for (const PathSegment& segment : segments) {
    Add(path_.times, segment.times);
    Add(by_rank[segment.rank], segment.times);
  }
  for (const auto& [rank, times] : by_rank) path_.by_rank.push_back({rank, times});
  std::stable_sort(path_.by_rank.begin(), path_.by_rank.end(),
                   [](const RankOnPath& a, const RankOnPath& b) {
                     return a.times.TotalNs() > b.times.TotalNs();
                   });
  if (segments.size() <= max_segments) return;
  path_.segments_omitted = static_cast<int64_t>(segments.size() - max_segments);
  std::stable_sort(segments.begin(), segments.end(),
                   [](const PathSegment& a, const PathSegment& b) {
                     return a.times.TotalNs() > b.times.TotalNs();
                   });
  segments.resize(max_segments);
  std::stable_sort(
      segments.begin(), segments.end(),
      [](const PathSegment& a, const PathSegment& b) { return a.end_ns < b.end_ns; });
}

base::Json ToJson(const PathTimes& times) {
  base::Json json;
  json.Set("compute_ns", times.compute_ns);
  json.Set("memory_ns", times.memory_ns);
  json.Set("transfer_ns", times.transfer_ns);
  json.Set("idle_ns", times.idle_ns);
  json.Set("unexplained_ns", times.unexplained_ns);
  json.Set("total_ns", times.TotalNs());
  return json;
}

base::Json ToJson(const PathSegment& segment) {
  base::Json json = ToJson(segment.times);
  json.Set("rank", segment.rank);
  json.Set("start_ns", segment.start_ns);
  json.Set("end_ns", segment.end_ns);
  const bool last = segment.next_rank < 0;
  json.Set("next_rank", last ? base::Json() : base::Json(segment.next_rank));
  json.Set("op", last ? base::Json() : base::Json(segment.op));
  json.Set("group", last ? base::Json() : base::Json(segment.group));
  json.Set("seq", last ? base::Json() : base::Json(segment.seq));
  return json;
}

}  // namespace

CriticalPathResult FindCriticalPath(std::span<const RankTrace> traces,
                                    const CrossRank& cross,
                                    const CriticalPathOptions& options) {
  CriticalPathResult result;
  if (!cross.waits) {
    result.reasons = cross.reasons;
    return result;
  }
  CriticalPath path = Walk(traces, cross).Run(options.max_segments);
  if (path.end_ns <= path.start_ns) {
    result.reasons.push_back("the window is empty");
    return result;
  }
  result.path = std::move(path);
  return result;
}

base::Json ToJson(const CriticalPathResult& result) {
  base::Json json;
  base::Json reasons{base::Json::Array{}};
  for (const std::string& reason : result.reasons) reasons.Append(reason);
  json.Set("reasons", std::move(reasons));
  base::Json by_rank{base::Json::Array{}};
  base::Json segments{base::Json::Array{}};
  const bool known = result.path.has_value();
  if (known) {
    for (const RankOnPath& of : result.path->by_rank) {
      base::Json row = ToJson(of.times);
      row.Set("rank", of.rank);
      by_rank.Append(std::move(row));
    }
    for (const PathSegment& s : result.path->segments) segments.Append(ToJson(s));
  }
  json.Set("length_ns",
           known ? base::Json(result.path->times.TotalNs()) : base::Json());
  json.Set("start_ns", known ? base::Json(result.path->start_ns) : base::Json());
  json.Set("end_ns", known ? base::Json(result.path->end_ns) : base::Json());
  json.Set("times", known ? ToJson(result.path->times) : base::Json());
  json.Set("jumps", known ? base::Json(result.path->jumps) : base::Json());
  json.Set("by_rank", std::move(by_rank));
  json.Set("segments", std::move(segments));
  json.Set("segments_omitted",
           known ? base::Json(result.path->segments_omitted) : base::Json());
  return json;
}

}  // namespace stepslack::analyze

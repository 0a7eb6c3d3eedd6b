#include "stepslack/analyze/hang_analysis.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "hang_findings.h"
#include "hang_groups.h"
#include "wait_graph.h"

namespace stepslack::analyze {
namespace {

constexpr size_t kMostRanks = 16384;  // the graph is dense: 64 MiB then

class HangAnalyzer {
 public:
  HangAnalyzer(std::vector<HangGroup> groups, std::vector<int32_t> ranks,
               std::set<int32_t> dumped)
      : groups_(std::move(groups)),
        ranks_(std::move(ranks)),
        dumped_(std::move(dumped)),
        graph_(ranks_.size()) {}

  HangAnalysis Run();

 private:
  size_t NodeOf(int32_t rank) const {
    return static_cast<size_t>(std::lower_bound(ranks_.begin(), ranks_.end(), rank) -
                               ranks_.begin());
  }
  void AddWait(int32_t from, int32_t to, bool certain) {
    graph_.Add(NodeOf(from), NodeOf(to), certain);
  }
  void AddGroup(const HangGroup& group);
  int64_t AddMismatch(const HangGroup& group);
  void AddCollectiveWaits(const HangGroup& group, int64_t limit);
  void AddP2pWaits(const HangGroup& group);

  void Judge();
  void JudgeSinks(const std::vector<std::vector<size_t>>& sinks);
  void JudgeCircle(const std::vector<int32_t>& circle);
  void JudgeWithoutWaits();
  void NameVictims();
  void MarkRoots();

  std::vector<HangGroup> groups_;
  std::vector<int32_t> ranks_;  // ascending; index is the node
  std::set<int32_t> dumped_;
  WaitGraph graph_;
  std::set<int32_t> pending_;  // ranks that wait in anything
  HangAnalysis result_;
};

int64_t HangAnalyzer::AddMismatch(const HangGroup& group) {
  std::optional<HangFinding> finding = FindMismatch(group);
  if (!finding) return kNoLimit;
  const int64_t sequence = finding->sequence;
  if (finding->others.empty()) {
    for (const int32_t a : finding->ranks) {
      for (const int32_t b : finding->ranks) AddWait(a, b, true);
    }
  } else {
    for (const int32_t a : finding->others) {
      for (const int32_t b : finding->ranks) AddWait(a, b, true);
    }
  }
  result_.findings.push_back(*std::move(finding));
  return sequence;
}

void HangAnalyzer::AddCollectiveWaits(const HangGroup& group, int64_t limit) {
  for (const auto& [rank, member] : group.members) {
    const int64_t waits_in = std::min(member.pending, limit - 1);
    if (waits_in < 0 || member.first_pending >= limit) continue;
    for (const auto& [other, state] : group.members) {
      if (!state.entered) {
        AddWait(rank, other, false);
      } else if (*state.entered < waits_in) {
        AddWait(rank, other, true);
      }
    }
  }
  if (auto finding = FindMissing(group, limit)) {
    result_.findings.push_back(*std::move(finding));
  }
}

void HangAnalyzer::AddP2pWaits(const HangGroup& group) {
  for (P2pWait& wait : FindP2pWaits(group)) {
    AddWait(wait.from, wait.to, wait.certain);
    result_.findings.push_back(std::move(wait.finding));
  }
}

void HangAnalyzer::AddGroup(const HangGroup& group) {
  for (const auto& [rank, member] : group.members) {
    bool waits = member.pending >= 0;
    for (const trace::FlightEntry* entry : member.p2p) {
      waits = waits || IsPending(*entry, member.p2p_completed);
    }
    if (waits) pending_.insert(rank);
  }
  const int64_t limit = AddMismatch(group);
  AddCollectiveWaits(group, limit);
  AddP2pWaits(group);
}

void HangAnalyzer::JudgeCircle(const std::vector<int32_t>& circle) {
  result_.suspects.insert(result_.suspects.end(), circle.begin(), circle.end());
  for (const HangFinding& finding : result_.findings) {
    const bool undecided = finding.others.empty() &&
                           finding.kind != HangKind::kMissingRank &&
                           std::includes(finding.ranks.begin(), finding.ranks.end(),
                                         circle.begin(), circle.end());
    if (undecided) return;  // the mismatch itself is the finding
  }
  HangFinding finding;
  finding.kind = HangKind::kCircularWait;
  finding.ranks = circle;
  finding.evidence = fmt::format(
      "ranks {} wait for each other: they enter the collectives of their groups in "
      "different orders",
      RanksText(circle));
  result_.findings.push_back(std::move(finding));
}

void HangAnalyzer::JudgeSinks(const std::vector<std::vector<size_t>>& sinks) {
  std::vector<int32_t> absent;
  for (const std::vector<size_t>& sink : sinks) {
    std::vector<int32_t> ranks;
    for (const size_t node : sink) ranks.push_back(ranks_[node]);
    if (ranks.size() > 1) {
      JudgeCircle(ranks);
    } else if (!dumped_.contains(ranks.front())) {
      absent.push_back(ranks.front());
    } else if (graph_.IsCertainlyAwaited(sink.front())) {
      result_.culprits.push_back(ranks.front());
    } else {
      result_.suspects.push_back(ranks.front());
    }
  }
  if (!absent.empty()) {
    result_.culprits.clear();
    result_.suspects.insert(result_.suspects.end(), absent.begin(), absent.end());
    // Whom others certainly wait for may itself wait for a rank that is not known.
    for (size_t node = 0; node < graph_.size(); ++node) {
      if (graph_.IsCertainlyAwaited(node) && !graph_.CertainlyWaitsForAny(node)) {
        result_.suspects.push_back(ranks_[node]);
      }
    }
    result_.reason = fmt::format(
        "there is no dump of ranks {}, and others wait in collectives that these are "
        "members of",
        RanksText(absent));
  } else if (result_.culprits.empty()) {
    result_.reason = fmt::format(
        "ranks {} are waited for, but not so that one of them is known to be the cause",
        RanksText(result_.suspects));
  }
  result_.verdict =
      result_.culprits.empty() ? HangVerdict::kUndetermined : HangVerdict::kFound;
}

// Everything that is pending was entered by all. Who alone has not finished what the
// others have is stuck on its device; otherwise the dumps do not say.
void HangAnalyzer::JudgeWithoutWaits() {
  if (pending_.empty()) {
    result_.verdict = result_.missing_dumps.empty() ? HangVerdict::kNoHang
                                                    : HangVerdict::kUndetermined;
    result_.reason =
        result_.missing_dumps.empty()
            ? "nothing is pending on any rank"
            : fmt::format("nothing is pending, but there is no dump of ranks {}",
                          RanksText(result_.missing_dumps));
    return;
  }
  std::set<int32_t> stuck;
  std::set<int32_t> unclear;
  for (const HangFinding& finding : result_.findings) {
    if (finding.kind != HangKind::kNotCompleted) continue;
    const bool few = finding.ranks.size() < finding.others.size();
    (few ? stuck : unclear).insert(finding.ranks.begin(), finding.ranks.end());
  }
  result_.verdict = HangVerdict::kUndetermined;
  if (stuck.empty()) {
    result_.reason =
        "all members have entered what is pending: the network or a device below the "
        "collectives is at fault, or the dumps are of a running job";
    result_.suspects.assign(unclear.begin(), unclear.end());
    return;
  }
  result_.verdict = HangVerdict::kFound;
  result_.culprits.assign(stuck.begin(), stuck.end());
}

void HangAnalyzer::MarkRoots() {
  const std::vector<int32_t>& named =
      result_.culprits.empty() ? result_.suspects : result_.culprits;
  const auto is_named = [&named](int32_t rank) {
    return std::find(named.begin(), named.end(), rank) != named.end();
  };
  for (HangFinding& finding : result_.findings) {
    finding.root =
        std::any_of(finding.ranks.begin(), finding.ranks.end(), is_named) ||
        std::any_of(finding.unknown.begin(), finding.unknown.end(), is_named);
  }
  const auto order = [](const HangFinding& finding) {
    const bool weak = finding.kind == HangKind::kNotCompleted || finding.is_p2p;
    return std::tuple(!finding.root, weak, finding.since_ns, finding.group);
  };
  std::stable_sort(result_.findings.begin(), result_.findings.end(),
                   [&order](const HangFinding& a, const HangFinding& b) {
                     return order(a) < order(b);
                   });
}

void HangAnalyzer::NameVictims() {
  // Streams make everything that is pending wait for the culprit in the end, also what
  // all of its members have entered.
  for (const int32_t rank : pending_) {
    const auto is_rank = [rank](int32_t other) { return other == rank; };
    if (std::none_of(result_.culprits.begin(), result_.culprits.end(), is_rank) &&
        std::none_of(result_.suspects.begin(), result_.suspects.end(), is_rank)) {
      result_.victims.push_back(rank);
    }
  }
}

void HangAnalyzer::Judge() {
  const std::vector<std::vector<size_t>> sinks = graph_.Sinks();
  if (sinks.empty()) {
    JudgeWithoutWaits();
  } else {
    JudgeSinks(sinks);
  }
  for (std::vector<int32_t>* list : {&result_.culprits, &result_.suspects}) {
    std::sort(list->begin(), list->end());
    list->erase(std::unique(list->begin(), list->end()), list->end());
  }
}

HangAnalysis HangAnalyzer::Run() {
  for (const int32_t rank : ranks_) {
    if (!dumped_.contains(rank)) result_.missing_dumps.push_back(rank);
  }
  result_.dumps = static_cast<int64_t>(dumped_.size());
  for (const HangGroup& group : groups_) AddGroup(group);
  for (const HangGroup& group : groups_) {
    if (auto finding = FindNotCompleted(group)) {
      // That nobody has finished says something only where nothing else does.
      if (finding->others.empty() && !result_.findings.empty()) continue;
      result_.findings.push_back(*std::move(finding));
    }
  }
  Judge();
  MarkRoots();
  NameVictims();
  if (result_.verdict == HangVerdict::kFound) {
    const HangFinding& first = result_.findings.front();
    result_.reason = fmt::format("ranks {} hold up {} others; first seen: {}",
                                 RanksText(result_.culprits), result_.victims.size(),
                                 first.evidence);
  }
  return std::move(result_);
}

}  // namespace

base::Result<HangAnalysis> AnalyzeHang(std::span<const trace::FlightDump> dumps,
                                       const HangOptions& options) {
  if (dumps.empty()) {
    return base::Fail("TRACE-0130", base::ExitCode::kInput,
                      "there is no Flight Recorder dump to look at", "",
                      "give the dumps of all ranks of the job");
  }
  std::set<int32_t> dumped;
  for (const trace::FlightDump& dump : dumps) {
    if (dump.rank < 0) {
      return base::Fail("TRACE-0131", base::ExitCode::kInput,
                        "the dump does not say of which rank it is", dump.name,
                        "keep the file name that the recorder gave (..._dump_3), or "
                        "give the rank");
    }
    if (!dumped.insert(dump.rank).second) {
      return base::Fail("TRACE-0132", base::ExitCode::kInput,
                        fmt::format("rank {} has more than one dump", dump.rank),
                        dump.name, "leave one dump per rank, all of the same hang");
    }
  }
  const int64_t world_size =
      std::max<int64_t>(options.world_size, *dumped.rbegin() + int64_t{1});
  std::set<int32_t> ranks = dumped;
  for (int64_t rank = 0; rank < options.world_size && ranks.size() <= kMostRanks;
       ++rank) {
    ranks.insert(static_cast<int32_t>(rank));
  }
  for (const trace::FlightDump& dump : dumps) {
    for (const auto& [name, group] : dump.groups) {
      ranks.insert(group.ranks.begin(), group.ranks.end());
    }
  }
  if (ranks.size() > kMostRanks || world_size > static_cast<int64_t>(kMostRanks)) {
    return base::Fail(
        "TRACE-0133", base::ExitCode::kInput,
        fmt::format("the dumps name more than {} ranks", kMostRanks),
        dumps.front().name,
        "give the dumps of one part of the job, for example of one pipeline");
  }
  return HangAnalyzer(CollectGroups(dumps, world_size),
                      std::vector<int32_t>(ranks.begin(), ranks.end()),
                      std::move(dumped))
      .Run();
}

}  // namespace stepslack::analyze

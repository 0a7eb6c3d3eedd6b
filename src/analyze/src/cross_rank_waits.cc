#include "cross_rank_waits.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <string_view>

#include "clock_offsets.h"

namespace stepslack::analyze {
namespace {

// The ends of the last few collectives of one rank: streams overlap, so the one it left
// last before an arrival need not be the latest.
class RecentEnds {
 public:
  explicit RecentEnds(int64_t entry) { ends_.fill(entry); }

  void Add(int64_t end_ns) {
    first_ = false;
    ends_[next_] = end_ns;
    next_ = (next_ + 1) % ends_.size();
  }
  bool first() const { return first_; }
  int64_t Before(int64_t time_ns) const {
    int64_t best = std::numeric_limits<int64_t>::min();
    int64_t least = std::numeric_limits<int64_t>::max();
    for (const int64_t end : ends_) {
      if (end <= time_ns) best = std::max(best, end);
      least = std::min(least, end);
    }
    return best == std::numeric_limits<int64_t>::min() ? std::min(least, time_ns)
                                                       : best;
  }

 private:
  std::array<int64_t, 4> ends_;
  size_t next_ = 0;
  bool first_ = true;
};

class WaitSums {
 public:
  WaitSums(std::span<const int32_t> ranks, std::span<const int64_t> entries,
           double inherited_share, CrossRank& cross)
      : ranks_(ranks), inherited_share_(inherited_share), cross_(cross) {
    for (size_t r = 0; r < ranks.size(); ++r) {
      recent_.emplace_back(entries[r]);
      summary_.by_rank.push_back({.rank = ranks[r]});
    }
  }

  void Run() {
    std::vector<int64_t> skews;
    double ideal_ns = 0;
    for (const MatchedCollective& collective : cross_.collectives) {
      CollectiveRow row = RowOf(collective);
      AddRanks(collective, row);
      AddLateness(collective, row);
      skews.push_back(row.start_skew_ns);
      ideal_ns += static_cast<double>(row.shortest_ns) *
                  static_cast<double>(collective.ranks.size());
      summary_.transfer_estimate_ns =
          AddNs(summary_.transfer_estimate_ns, row.shortest_ns);
      cross_.rows.push_back(row);
    }
    if (!skews.empty()) {
      summary_.max_start_skew_ns = *std::max_element(skews.begin(), skews.end());
      summary_.median_start_skew_ns = LowerMedian(skews);
    }
    if (summary_.comm_ns > 0) {
      const double comm = static_cast<double>(summary_.comm_ns);
      summary_.wait_share = static_cast<double>(summary_.wait_ns) / comm;
      summary_.wait_share_estimate = 1 - ideal_ns / comm;
    }
    cross_.waits = std::move(summary_);
  }

 private:
  size_t Dense(int32_t rank) const {
    const size_t same = static_cast<size_t>(rank);  // the usual case: ranks 0 ... n - 1
    if (same < ranks_.size() && ranks_[same] == rank) return same;
    return static_cast<size_t>(std::lower_bound(ranks_.begin(), ranks_.end(), rank) -
                               ranks_.begin());
  }
  CollectiveRow RowOf(const MatchedCollective& collective) const;
  void AddRanks(const MatchedCollective& collective, const CollectiveRow& row);
  void AddLateness(const MatchedCollective& collective, CollectiveRow& row);

  std::span<const int32_t> ranks_;
  double inherited_share_;
  CrossRank& cross_;
  std::vector<RecentEnds> recent_;
  WaitSummary summary_;
};

CollectiveRow WaitSums::RowOf(const MatchedCollective& collective) const {
  CollectiveRow row;
  int64_t first_start = collective.last_start_ns;
  row.shortest_ns = std::numeric_limits<int64_t>::max();
  for (const CollectiveOnRank& r : collective.ranks) {
    first_start = std::min(first_start, r.start_ns);
    row.shortest_ns = std::min(row.shortest_ns, r.end_ns - r.start_ns);
  }
  row.start_skew_ns = collective.last_start_ns - first_start;
  if (collective.bytes > 0 && row.shortest_ns > 0) {
    row.algorithm_bandwidth_gbps =
        static_cast<double>(collective.bytes) / static_cast<double>(row.shortest_ns);
    row.bus_bandwidth_gbps = BusFactor(collective.name, collective.group_size) *
                             *row.algorithm_bandwidth_gbps;
  }
  return row;
}

void WaitSums::AddRanks(const MatchedCollective& collective, const CollectiveRow& row) {
  const int64_t first_start = collective.last_start_ns - row.start_skew_ns;
  const auto early =
      std::count_if(collective.ranks.begin(), collective.ranks.end(),
                    [&](const auto& r) { return r.start_ns == first_start; });
  for (const CollectiveOnRank& r : collective.ranks) {
    RankWaits& of = summary_.by_rank[Dense(r.rank)];
    ++of.collectives;
    of.times_last += r.rank == collective.last_rank ? 1 : 0;
    of.times_first += early == 1 && r.start_ns == first_start ? 1 : 0;
    of.wait_ns = AddNs(of.wait_ns, r.wait_ns);
    of.transfer_ns = AddNs(of.transfer_ns, r.transfer_ns);
    if (r.rank == collective.last_rank) {
      of.wait_caused_ns = AddNs(of.wait_caused_ns, collective.wait_caused_ns);
    }
    summary_.wait_ns = AddNs(summary_.wait_ns, r.wait_ns);
    summary_.comm_ns = AddNs(summary_.comm_ns, r.end_ns - r.start_ns);
  }
}

// Lateness of each rank against the first arriver, split at the moment it left its
// previous collective (at first: entered the window).
void WaitSums::AddLateness(const MatchedCollective& collective, CollectiveRow& row) {
  const int64_t first_start = collective.last_start_ns - row.start_skew_ns;
  const int64_t first_left =
      recent_[Dense(collective.arrival.front())].Before(first_start);
  bool last_seen = false;
  for (const CollectiveOnRank& r : collective.ranks) {
    const RecentEnds& recent = recent_[Dense(r.rank)];
    RankWaits& of = summary_.by_rank[Dense(r.rank)];
    const int64_t late = r.start_ns - first_start;
    const int64_t earlier_by = recent.Before(r.start_ns) - first_left;
    int64_t carried = std::clamp(earlier_by, int64_t{0}, late);
    if (recent.first()) {
      const double enough = inherited_share_ * static_cast<double>(late);
      if (static_cast<double>(carried) >= enough) carried = late;
      of.inherited_ns = carried;
    }
    of.lateness_ns = AddNs(of.lateness_ns, late);
    of.arisen_ns = AddNs(of.arisen_ns, late - carried);
    if (last_seen || r.start_ns != collective.last_start_ns) continue;
    last_seen = true;
    row.carried_ns = carried;
    row.arisen_ns = late - carried;
    if (cross_.rows.empty()) {
      summary_.first_skew_ns = late;
      summary_.entry_skew_ns = earlier_by;
      summary_.inherited_skew_ns = carried;
    }
  }
  for (const CollectiveOnRank& r : collective.ranks) {
    recent_[Dense(r.rank)].Add(r.end_ns);
  }
}

// Bandwidths of one operation, one value per collective or span.
struct Bandwidths {
  std::vector<double> algorithm;
  std::vector<double> bus;
};

struct OperationSums {
  OperationRow row;
  Bandwidths own;       // over the duration of each span
  Bandwidths shortest;  // over the shortest of each collective
};
using OperationTable = std::map<std::string, OperationSums, std::less<>>;

OperationSums& RowOfOperation(OperationTable& table, std::string_view op) {
  auto at = table.find(op);
  if (at == table.end()) at = table.emplace(std::string(op), OperationSums{}).first;
  return at->second;
}

void AddSpan(const CollectiveSpan& span, int64_t world_size, std::string_view op,
             OperationSums& sums) {
  int64_t length = 0;
  if (__builtin_sub_overflow(span.end_ns, span.start_ns, &length)) length = 0;
  ++sums.row.spans;
  sums.row.bytes = AddNs(sums.row.bytes, span.bytes);
  sums.row.total_ns = AddNs(sums.row.total_ns, std::max<int64_t>(length, 0));
  if (span.bytes <= 0 || length <= 0) return;
  const double bandwidth =
      static_cast<double>(span.bytes) / static_cast<double>(length);
  sums.own.algorithm.push_back(bandwidth);
  const int64_t size = span.group_size > 0 ? span.group_size : world_size;
  if (size > 0) sums.own.bus.push_back(BusFactor(op, size) * bandwidth);
}

void AddMatched(const MatchedCollective& collective, const CollectiveRow& matched,
                OperationSums& sums) {
  ++sums.row.matched;
  sums.row.max_start_skew_ns =
      std::max(sums.row.max_start_skew_ns, matched.start_skew_ns);
  for (const CollectiveOnRank& r : collective.ranks) {
    sums.row.wait_ns = AddNs(sums.row.wait_ns, r.wait_ns);
    sums.row.transfer_ns = AddNs(sums.row.transfer_ns, r.transfer_ns);
  }
  if (!matched.algorithm_bandwidth_gbps) return;
  sums.shortest.algorithm.push_back(*matched.algorithm_bandwidth_gbps);
  sums.shortest.bus.push_back(*matched.bus_bandwidth_gbps);
}

std::optional<double> Median(std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  const auto middle =
      values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

int64_t AddNs(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return b > 0 ? std::numeric_limits<int64_t>::max()
               : std::numeric_limits<int64_t>::min();
}

std::vector<int64_t> EntryTimes(std::span<const RankTrace> traces,
                                std::span<const size_t> trace_of_rank,
                                std::span<const int64_t> corrections) {
  const bool steps = std::all_of(traces.begin(), traces.end(),
                                 [](const RankTrace& t) { return !t.steps.empty(); });
  constexpr int64_t kLimit = int64_t{1} << 61;
  std::vector<int64_t> entries;
  for (size_t r = 0; r < trace_of_rank.size(); ++r) {
    const RankTrace& trace = traces[trace_of_rank[r]];
    const int64_t entry = steps ? trace.steps.front().start_ns : trace.window_start_ns;
    entries.push_back(std::clamp(entry, -kLimit, kLimit) - corrections[r]);
  }
  return entries;
}

void SummariseWaits(std::span<const int32_t> ranks, std::span<const int64_t> entries,
                    double inherited_share, CrossRank& cross) {
  WaitSums(ranks, entries, inherited_share, cross).Run();
}

std::vector<OperationRow> RowsOfOperations(std::span<const RankTrace> traces,
                                           const CrossRank& cross) {
  OperationTable table;
  for (const RankTrace& trace : traces) {
    for (const CollectiveSpan& span : trace.collectives) {
      const std::string_view op = trace.strings.Get(span.op);
      AddSpan(span, trace.world_size, op, RowOfOperation(table, op));
    }
  }
  for (size_t i = 0; i < cross.collectives.size(); ++i) {
    AddMatched(cross.collectives[i], cross.rows[i],
               RowOfOperation(table, cross.collectives[i].name));
  }
  std::vector<OperationRow> sorted;
  for (auto& [op, sums] : table) {
    OperationRow& row = sums.row;
    row.op = op;
    row.bandwidth_includes_waiting = row.matched == 0;
    Bandwidths& of = row.matched == 0 ? sums.own : sums.shortest;
    row.algorithm_bandwidth_gbps = Median(of.algorithm);
    row.bus_bandwidth_gbps = Median(of.bus);
    sorted.push_back(std::move(row));
  }
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return a.total_ns > b.total_ns;
  });
  return sorted;
}

}  // namespace stepslack::analyze

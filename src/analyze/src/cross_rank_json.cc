#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "stepslack/analyze/cross_rank.h"

namespace stepslack::analyze {
namespace {

template <typename T>
base::Json OrNull(const std::optional<T>& value) {
  return value ? base::Json(*value) : base::Json();
}

base::Json Counts(const std::map<std::string, int64_t>& counts) {
  base::Json json{base::Json::Object{}};
  for (const auto& [reason, count] : counts) json.Set(reason, count);
  return json;
}

base::Json OfRank(const RankWaits& of) {
  base::Json json;
  json.Set("rank", of.rank);
  json.Set("collectives", of.collectives);
  json.Set("times_last", of.times_last);
  json.Set("times_first", of.times_first);
  json.Set("wait_ns", of.wait_ns);
  json.Set("transfer_ns", of.transfer_ns);
  json.Set("wait_caused_ns", of.wait_caused_ns);
  json.Set("lateness_ns", of.lateness_ns);
  json.Set("inherited_ns", of.inherited_ns);
  json.Set("arisen_ns", of.arisen_ns);
  return json;
}

base::Json OfOperation(const OperationRow& row) {
  base::Json json;
  json.Set("op", row.op);
  json.Set("spans", row.spans);
  json.Set("matched", row.matched);
  json.Set("bytes", row.bytes);
  json.Set("total_ns", row.total_ns);
  json.Set("wait_ns", row.matched > 0 ? base::Json(row.wait_ns) : base::Json());
  json.Set("transfer_ns", row.matched > 0 ? base::Json(row.transfer_ns) : base::Json());
  json.Set("max_start_skew_ns",
           row.matched > 0 ? base::Json(row.max_start_skew_ns) : base::Json());
  json.Set("algorithm_bandwidth_gbps", OrNull(row.algorithm_bandwidth_gbps));
  json.Set("bus_bandwidth_gbps", OrNull(row.bus_bandwidth_gbps));
  json.Set("bandwidth_includes_waiting", row.bandwidth_includes_waiting);
  return json;
}

base::Json OfCollective(const MatchedCollective& collective, const CollectiveRow& row) {
  base::Json json;
  json.Set("op", collective.name);
  json.Set("group", collective.group);
  json.Set("seq", collective.seq);
  json.Set("bytes", collective.bytes);
  json.Set("ranks", collective.group_size);
  json.Set("last_start_ns", collective.last_start_ns);
  json.Set("last_rank",
           collective.last_rank >= 0 ? base::Json(collective.last_rank) : base::Json());
  json.Set("start_skew_ns", row.start_skew_ns);
  json.Set("end_skew_ns", collective.end_skew_ns);
  json.Set("shortest_ns", row.shortest_ns);
  json.Set("wait_caused_ns", collective.wait_caused_ns);
  json.Set("carried_ns", row.carried_ns);
  json.Set("arisen_ns", row.arisen_ns);
  json.Set("algorithm_bandwidth_gbps", OrNull(row.algorithm_bandwidth_gbps));
  json.Set("bus_bandwidth_gbps", OrNull(row.bus_bandwidth_gbps));
  return json;
}

// The rows that matter most, in time order.
std::vector<size_t> ChooseRows(const CrossRank& cross, size_t max_rows) {
  std::vector<size_t> chosen(cross.collectives.size());
  std::iota(chosen.begin(), chosen.end(), size_t{0});
  std::stable_sort(chosen.begin(), chosen.end(), [&](size_t a, size_t b) {
    return cross.collectives[a].wait_caused_ns > cross.collectives[b].wait_caused_ns;
  });
  chosen.resize(std::min(chosen.size(), max_rows));
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

void AddWaits(const std::optional<WaitSummary>& waits, base::Json& json) {
  base::Json by_rank{base::Json::Array{}};
  if (waits) {
    for (const RankWaits& of : waits->by_rank) by_rank.Append(OfRank(of));
  }
  json.Set("by_rank", std::move(by_rank));
  const auto set = [&](const char* key, auto WaitSummary::*member) {
    json.Set(key, waits ? base::Json((*waits).*member) : base::Json());
  };
  set("wait_ns", &WaitSummary::wait_ns);
  set("comm_ns", &WaitSummary::comm_ns);
  set("transfer_estimate_ns", &WaitSummary::transfer_estimate_ns);
  set("wait_share", &WaitSummary::wait_share);
  set("wait_share_estimate", &WaitSummary::wait_share_estimate);
  set("median_start_skew_ns", &WaitSummary::median_start_skew_ns);
  set("max_start_skew_ns", &WaitSummary::max_start_skew_ns);
  set("first_skew_ns", &WaitSummary::first_skew_ns);
  set("entry_skew_ns", &WaitSummary::entry_skew_ns);
  set("inherited_skew_ns", &WaitSummary::inherited_skew_ns);
}

}  // namespace

base::Json ToJson(const CrossRank& cross, size_t max_rows) {
  base::Json json;
  json.Set("ranks", cross.ranks);
  json.Set("world_size",
           cross.world_size > 0 ? base::Json(cross.world_size) : base::Json());
  json.Set("spans", cross.spans);
  json.Set("matched", cross.matched);
  json.Set("refused", cross.refused);
  json.Set("unmatched", cross.unmatched);
  json.Set("matched_by_order", cross.matched_by_order);
  json.Set("size_mismatches", cross.size_mismatches);
  json.Set("refused_by_reason", Counts(cross.refused_by_reason));
  json.Set("unmatched_by_reason", Counts(cross.unmatched_by_reason));
  base::Json offsets{base::Json::Array{}};
  for (const ClockOffset& offset : cross.clock_offsets) {
    base::Json of;
    of.Set("rank", offset.rank);
    of.Set("offset_ns", OrNull(offset.offset_ns));
    of.Set("applied", offset.applied);
    offsets.Append(std::move(of));
  }
  json.Set("clock_offsets", std::move(offsets));
  json.Set("clock_residual_ns", OrNull(cross.clock_residual_ns));
  json.Set("clock_residual_max_ns", OrNull(cross.clock_residual_max_ns));
  json.Set("clock_tolerance_ns", cross.clock_tolerance_ns);
  base::Json reasons{base::Json::Array{}};
  for (const std::string& reason : cross.reasons) reasons.Append(reason);
  json.Set("reasons", std::move(reasons));
  AddWaits(cross.waits, json);
  base::Json by_op{base::Json::Array{}};
  for (const OperationRow& row : cross.by_op) by_op.Append(OfOperation(row));
  json.Set("by_op", std::move(by_op));
  base::Json rows{base::Json::Array{}};
  const std::vector<size_t> chosen = ChooseRows(cross, max_rows);
  for (const size_t i : chosen) {
    rows.Append(OfCollective(cross.collectives[i], cross.rows[i]));
  }
  json.Set("rows", std::move(rows));
  json.Set("rows_omitted",
           static_cast<int64_t>(cross.collectives.size() - chosen.size()));
  return json;
}

}  // namespace stepslack::analyze

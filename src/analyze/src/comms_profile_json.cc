#include "stepslack/analyze/phases.h"

namespace stepslack::analyze {
namespace {

base::Json RowJson(const CollectiveRow& row) {
  base::Json json;
  json.Set("name", row.name);
  json.Set("group", row.group);
  json.Set("message_bytes", row.bytes);
  json.Set("group_size", row.group_size);
  json.Set("count", row.count);
  json.Set("wait_us", base::ToJson(row.wait_us));
  json.Set("transfer_us", base::ToJson(row.transfer_us));
  json.Set("bus_bandwidth_gb_per_s", base::ToJson(row.bus_bandwidth));
  return json;
}

base::Json RankJson(const RankTotals& rank) {
  base::Json json;
  json.Set("rank", rank.rank);
  json.Set("steps", rank.steps);
  json.Set("samples", rank.samples);
  json.Set("step_ns", rank.step_ns);
  json.Set("data_ns", rank.data_ns);
  json.Set("forward_ns", rank.forward_ns);
  json.Set("backward_ns", rank.backward_ns);
  json.Set("exposed_comm_ns", rank.exposed_comm_ns);
  json.Set("optimizer_ns", rank.optimizer_ns);
  json.Set("other_ns", rank.other_ns);
  json.Set("comm_bytes", rank.comm_bytes);
  json.Set("minor_faults", rank.minor_faults);
  json.Set("cpu_seconds", rank.cpu_seconds);
  json.Set("times_last", rank.times_last);
  json.Set("wait_caused_ns", rank.wait_caused_ns);
  json.Set("wait_ns", rank.wait_ns);
  return json;
}

void SetShares(const CommsProfile& profile, base::Json& json) {
  json.Set("exposed_share", base::ToJson(profile.exposed_share));
  json.Set("data_share", base::ToJson(profile.data_share));
  json.Set("forward_share", base::ToJson(profile.forward_share));
  json.Set("backward_share", base::ToJson(profile.backward_share));
  json.Set("optimizer_share", base::ToJson(profile.optimizer_share));
  json.Set("other_share", base::ToJson(profile.other_share));
  json.Set("traced_exposed_share", base::ToJson(profile.traced_exposed_share));
  json.Set("comm_share", base::ToJson(profile.comm_share));
  json.Set("overlap_share", base::ToJson(profile.overlap_share));
  json.Set("wait_share", base::ToJson(profile.wait_share));
  json.Set("transfer_share", base::ToJson(profile.transfer_share));
  json.Set("exposed_wait_share", base::ToJson(profile.exposed_wait_share));
  json.Set("exposed_transfer_share", base::ToJson(profile.exposed_transfer_share));
}

}  // namespace

base::Json ToJson(const StepCoverage& coverage) {
  base::Json json;
  json.Set("steps_seen", coverage.steps_seen);
  json.Set("steps_used", coverage.steps_used);
  json.Set("warmup_steps", coverage.warmup_steps);
  json.Set("incomplete_steps", coverage.incomplete_steps);
  json.Set("zero_steps", coverage.zero_steps);
  json.Set("repeated_records", coverage.repeated_records);
  json.Set("overfull_records", coverage.overfull_records);
  base::Json missing = base::Json::Array{};
  for (const int rank : coverage.missing_ranks) missing.Append(rank);
  json.Set("missing_ranks", std::move(missing));
  return json;
}

base::Json ToJson(const CommsProfile& profile) {
  base::Json json;
  json.Set("schema", "stepslack.comms_profile/1");
  json.Set("world_size", profile.world_size);
  json.Set("runs", profile.runs);
  json.Set("interval_over", profile.interval_over);
  json.Set("coverage", ToJson(profile.coverage));
  json.Set("traced_rank_steps", profile.traced_steps);
  json.Set("step_seconds", base::ToJson(profile.step_seconds));
  SetShares(profile, json);
  json.Set("bytes_per_step", base::ToJson(profile.bytes_per_step));
  json.Set("load_balance", base::ToJson(profile.load_balance));
  json.Set("minor_faults_per_step", base::ToJson(profile.faults_per_step));
  json.Set("slowest_rank", profile.slowest_rank);
  json.Set("slowest_over_others", base::ToJson(profile.slowest_over_others));
  base::Json rows = base::Json::Array{};
  for (const CollectiveRow& row : profile.collectives) rows.Append(RowJson(row));
  json.Set("collectives", std::move(rows));
  base::Json ranks = base::Json::Array{};
  for (const RankTotals& rank : profile.ranks) ranks.Append(RankJson(rank));
  json.Set("ranks", std::move(ranks));
  json.Set("matching", ToJson(profile.matching));
  return json;
}

}  // namespace stepslack::analyze

#include <string>
#include <string_view>
#include <utility>

#include "stepslack/analyze/run_sets.h"

namespace stepslack::analyze {
namespace {

using base::Json;

template <typename T>
Json OrNull(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

std::string Joined(const std::string& a, const std::string& b) {
  return a.empty() ? b : b.empty() ? a : a + "; " + b;
}

Json RunJson(const RunOutcome& run) {
  Json json;
  json.Set("source", run.source);
  json.Set("format", run.format);
  json.Set("benchmark", run.benchmark);
  json.Set("system", run.system);
  json.Set("submitter", run.submitter);
  json.Set("world_size", OrNull(run.world_size));
  json.Set("status", ToString(run.status));
  json.Set("reached", run.reached());
  json.Set("ttt_min", OrNull(run.ttt_min));
  json.Set("watched_min", OrNull(run.watched_min));
  json.Set("samples_to_target", OrNull(run.samples_to_target));
  json.Set("unit", run.unit);
  json.Set("global_batch", OrNull(run.global_batch));
  json.Set("eval_share", OrNull(run.eval_share));
  json.Set("init_min", OrNull(run.init_min));
  json.Set("eval_grid_width", OrNull(run.eval_grid_width));
  json.Set("final_quality", OrNull(run.final_quality));
  json.Set("seed", OrNull(run.seed));
  json.Set("reason", Joined(run.reason, run.world_size_reason));
  return json;
}

Json QuantilesJson(const RunQuantiles& quantiles) {
  Json json;
  json.Set("q25", OrNull(quantiles.q25));
  json.Set("median_censor_at_stop", OrNull(quantiles.median_censor_at_stop));
  json.Set("median_censor_at_inf", OrNull(quantiles.median_censor_at_inf));
  json.Set("q75", OrNull(quantiles.q75));
  return json;
}

void SetScaling(const RunSet& set, Json& json) {
  json.Set("baseline", set.baseline);
  json.Set("speedup", OrNull(set.speedup));
  json.Set("E", OrNull(set.E));
  json.Set("Es", OrNull(set.Es));
  json.Set("Eh", OrNull(set.Eh));
  json.Set("se_log_E", OrNull(set.se_log_E));
  if (!set.no_scaling.empty()) json.Set("scaling_reason", set.no_scaling);
}

Json SetJson(const RunSet& set) {
  Json json;
  json.Set("name", set.name);
  json.Set("benchmark", set.benchmark);
  json.Set("system", set.system);
  json.Set("submitter", set.submitter);
  json.Set("world_size", OrNull(set.world_size));
  json.Set("global_batch", OrNull(set.global_batch));
  json.Set("runs", set.runs);
  json.Set("successes", set.successes);
  json.Set("ttt", base::ToJson(set.ttt));
  json.Set("success_share", OrNull(set.success_share.value));
  json.Set("success_share_interval", base::ToJson(set.success_share));
  json.Set("kaplan_meier", QuantilesJson(set.quantiles));
  json.Set("drop_each_side", set.drop_each_side);
  json.Set("olympic_min", OrNull(set.olympic_min));
  if (!set.no_olympic.empty()) json.Set("olympic_reason", set.no_olympic);
  json.Set("mean_min", OrNull(set.mean_min));
  json.Set("time_basis", set.time_basis);
  json.Set("samples", OrNull(set.samples));
  json.Set("unit", set.unit);
  json.Set("throughput", OrNull(set.throughput));
  json.Set("throughput_per_worker", OrNull(set.throughput_per_worker));
  json.Set("eval_share", OrNull(set.eval_share));
  json.Set("eval_grid_share", OrNull(set.eval_grid_share));
  json.Set("init_min", OrNull(set.init_min));
  SetScaling(set, json);
  return json;
}

}  // namespace

base::Json ToJson(const RunSetReport& report) {
  Json runs = Json::Array{};
  for (const RunOutcome& run : report.runs) runs.Append(RunJson(run));
  Json sets = Json::Array{};
  for (const RunSet& set : report.sets) sets.Append(SetJson(set));
  Json json;
  json.Set("schema", "stepslack.run_sets/1");
  json.Set("runs", std::move(runs));
  json.Set("sets", std::move(sets));
  return json;
}

}  // namespace stepslack::analyze

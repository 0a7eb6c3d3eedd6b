#include "stepslack/analyze/trace_compare.h"

namespace stepslack::analyze {
namespace {

base::Json DeltaJson(const TimeDelta& delta) {
  base::Json json;
  json.Set("name", delta.name);
  if (!delta.kind.empty()) json.Set("kind", delta.kind);
  json.Set("presence", ToString(delta.presence));
  if (delta.count_a > 0 || delta.count_b > 0) {
    json.Set("count_a", delta.count_a);
    json.Set("count_b", delta.count_b);
    json.Set("calls_a", delta.calls_a);
    json.Set("calls_b", delta.calls_b);
    json.Set("call_a_ns", delta.call_a_ns);
    json.Set("call_b_ns", delta.call_b_ns);
  }
  json.Set("total_a_ns", delta.total_a_ns);
  json.Set("total_b_ns", delta.total_b_ns);
  json.Set("a_ns", delta.a_ns);
  json.Set("b_ns", delta.b_ns);
  json.Set("delta_ns", delta.delta_ns);
  json.Set("ratio", base::ToJson(delta.ratio));
  return json;
}

base::Json DeltasJson(const std::vector<TimeDelta>& deltas) {
  base::Json json = base::Json::Array{};
  for (const TimeDelta& delta : deltas) json.Append(DeltaJson(delta));
  return json;
}

base::Json SideJson(const CompareSide& side) {
  base::Json json;
  json.Set("ranks", side.ranks);
  json.Set("rank_steps", side.rank_steps);
  json.Set("steps", side.steps);
  json.Set("collectives_outside_steps", side.collectives_outside);
  return json;
}

}  // namespace

base::Json ToJson(const TraceComparison& comparison) {
  base::Json json;
  json.Set("schema", "stepslack.trace_comparison/1");
  json.Set("basis", comparison.basis);
  json.Set("per_step", comparison.per_step);
  json.Set("a", SideJson(comparison.a));
  json.Set("b", SideJson(comparison.b));
  json.Set("device", DeltasJson(comparison.device));
  json.Set("phases", DeltasJson(comparison.phases));
  json.Set("kernels", DeltasJson(comparison.kernels));
  json.Set("collectives", DeltasJson(comparison.collectives));
  return json;
}

}  // namespace stepslack::analyze

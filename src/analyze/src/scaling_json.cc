#include "stepslack/analyze/scaling.h"

namespace stepslack::analyze {
namespace {

base::Json Numbers(const std::vector<double>& values) {
  base::Json json = base::Json::Array{};
  for (const double value : values) json.Append(value);
  return json;
}

base::Json LossJson(const EfficiencyLoss& loss) {
  base::Json json;
  json.Set("total_pp", base::ToJson(loss.total));
  json.Set("compute_pp", base::ToJson(loss.compute));
  json.Set("exposed_comm_pp", base::ToJson(loss.exposed_comm));
  json.Set("data_pp", base::ToJson(loss.data));
  json.Set("other_pp", base::ToJson(loss.other));
  return json;
}

base::Json PointJson(const ScalingPoint& point) {
  base::Json json;
  json.Set("world_size", point.world_size);
  json.Set("per_rank_batch", point.per_rank_batch);
  json.Set("global_batch", point.global_batch);
  json.Set("rule", ToString(point.rule));
  json.Set("repeats", point.repeats);
  json.Set("throughputs_samples_per_s", Numbers(point.throughputs));
  json.Set("throughput_samples_per_s", base::ToJson(point.throughput));
  json.Set("speedup", base::ToJson(point.speedup));
  json.Set("hardware_efficiency", base::ToJson(point.hardware));
  json.Set("statistical_efficiency", base::ToJson(point.statistical));
  json.Set("efficiency", base::ToJson(point.efficiency));
  json.Set("versus_no_comm", base::ToJson(point.versus_no_comm));
  json.Set("load_balance", base::ToJson(point.load_balance));
  json.Set("loss", LossJson(point.loss));
  json.Set("max_relative_loss_difference",
           point.max_relative_loss_difference
               ? base::Json(*point.max_relative_loss_difference)
               : base::Json());
  json.Set("loss_steps_compared", point.loss_steps_compared);
  json.Set("slowest_rank", point.slowest_rank);
  json.Set("rank_compute_seconds_per_step", Numbers(point.rank_compute_seconds));
  return json;
}

}  // namespace

base::Json ToJson(const ScalingReport& report) {
  base::Json json;
  json.Set("schema", "stepslack.scaling/1");
  base::Json points = base::Json::Array{};
  for (const ScalingPoint& point : report.points) points.Append(PointJson(point));
  json.Set("points", std::move(points));
  base::Json remarks = base::Json::Array{};
  for (const std::string& remark : report.remarks) remarks.Append(remark);
  json.Set("remarks", std::move(remarks));
  return json;
}

}  // namespace stepslack::analyze

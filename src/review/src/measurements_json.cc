#include "measurements_json.h"

namespace stepslack::review {
namespace {

using base::Json;

Json QualityJson(const quality::MapQuality& quality) {
  Json json;
  json.Set("maps", quality.maps);
  json.Set("groups", quality.groups);
  json.Set("relative_mae", base::ToJson(quality.relative_mae));
  json.Set("mae", base::ToJson(quality.mae));
  json.Set("hotspot_recall", base::ToJson(quality.hotspot_recall));
  json.Set("hotspot_precision", base::ToJson(quality.hotspot_precision));
  json.Set("block_recall", base::ToJson(quality.block_recall));
  return json;
}

Json PredictorsJson(const QualityResults& quality) {
  Json json;
  json.Set("constant", QualityJson(quality.constant));
  json.Set("linear", QualityJson(quality.linear));
  json.Set("unet", QualityJson(quality.model));
  json.Set("unet_careless_split", QualityJson(quality.naive));
  if (quality.naive_leaked) {
    json.Set("unet_careless_split_leaked_rows", QualityJson(*quality.naive_leaked));
  }
  if (quality.naive_clean) {
    json.Set("unet_careless_split_clean_rows", QualityJson(*quality.naive_clean));
  }
  json.Set("unet_vs_linear", base::ToJson(quality.vs_linear));
  if (quality.coverage_90) {
    json.Set("coverage_of_90_interval", base::ToJson(*quality.coverage_90));
  }
  json.Set("seed_spread", base::ToJson(quality.seed_spread));
  return json;
}

Json LeakingDesigns(const DataStages& data) {
  Json designs{Json::Array{}};
  for (const data::GroupMerge& merge : data.merges) {
    Json members{Json::Array{}};
    for (const std::string& member : merge.members) members.Append(member);
    designs.Append(std::move(members));
  }
  return designs;
}

Json LatencyJson(const LatencyComparison& latency) {
  Json json;
  json.Set("model_ms", base::ToJson(latency.model_ms));
  json.Set("model_cpu_ms", base::ToJson(latency.model_cpu_ms));
  if (latency.solver_ms) json.Set("solver_ms", base::ToJson(*latency.solver_ms));
  if (latency.solver_cpu_ms) {
    json.Set("solver_cpu_ms", base::ToJson(*latency.solver_cpu_ms));
  }
  if (latency.ratio) json.Set("model_over_solver", base::ToJson(*latency.ratio));
  return json;
}

}  // namespace

Json MeasurementsJson(const DataStages& data, const Measurements& measured) {
  Json json;
  json.Set("predictors", PredictorsJson(measured.quality));
  json.Set("leaking_designs", LeakingDesigns(data));
  json.Set("split_audit", data::ToJson(data.audit));
  json.Set("careless_leaked_rows", data.naive_audit.leaked_test_rows());
  json.Set("scaling", analyze::ToJson(measured.scaling));
  json.Set("comms_profile", analyze::ToJson(measured.profile));
  json.Set("time_to_accuracy", analyze::ToJson(measured.time_to_accuracy));
  json.Set("reproducibility", analyze::ToJson(measured.reproducibility));
  json.Set("overfit", analyze::ToJson(measured.overfit));
  json.Set("trials", analyze::ToJson(measured.trials));
  if (measured.augmentation) {
    json.Set("augmentation", analyze::ToJson(*measured.augmentation));
  }
  json.Set("latency", LatencyJson(measured.latency));
  return json;
}

}  // namespace stepslack::review

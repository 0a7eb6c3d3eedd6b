#include "stepslack/study/trial.h"

#include <fmt/format.h>

#include "stepslack/base/digest.h"

namespace stepslack::study {
namespace {

using base::Json;

constexpr std::string_view kSchema = "stepslack.trial/1";
constexpr size_t kIdDigits = 16;

constexpr TrialStatus kStatuses[] = {TrialStatus::kDone, TrialStatus::kFailed,
                                     TrialStatus::kTimeout, TrialStatus::kNoMetric,
                                     TrialStatus::kLost};

template <typename T>
Json OrNull(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

std::optional<double> DoubleOf(const Json& json) {
  return json.is_number() ? std::optional(json.AsDouble()) : std::nullopt;
}

std::optional<int64_t> IntOf(const Json& json) {
  return json.is_int() ? std::optional(json.AsInt()) : std::nullopt;
}

}  // namespace

std::string_view ToString(TrialStatus status) {
  switch (status) {
    case TrialStatus::kDone:
      return "done";
    case TrialStatus::kFailed:
      return "failed";
    case TrialStatus::kTimeout:
      return "timeout";
    case TrialStatus::kNoMetric:
      return "no metric";
    case TrialStatus::kLost:
      return "lost";
  }
  return "failed";
}

std::string TrialId(const StudyFile& study, const Trial& trial) {
  Json identity;
  identity.Set("command", study.command);
  identity.Set("train", study.train_sha256);
  identity.Set("slurm", study.slurm);
  Settings values = study.values;
  for (const auto& [key, value] : trial.values) values[key] = value;
  identity.Set("values", ToJson(values));
  identity.Set("ranks", trial.ranks);
  identity.Set("seed", trial.seed);
  identity.Set("batch", trial.batch);
  identity.Set("repeat", trial.repeat);
  identity.Set("previous", trial.previous);
  return base::Sha256Of(identity.Dump(-1)).substr(0, kIdDigits);
}

Json ToJson(const Settings& settings) {
  Json json = Json::Object();
  for (const auto& [key, value] : settings) json.Set(key, value);
  return json;
}

Json ToJson(const TrialResult& result) {
  Json json;
  json.Set("schema", kSchema).Set("id", result.id);
  json.Set("arm", result.trial.arm).Set("purpose", result.trial.purpose);
  json.Set("values", ToJson(result.trial.values));
  json.Set("ranks", result.trial.ranks).Set("seed", result.trial.seed);
  json.Set("batch", result.trial.batch).Set("repeat", result.trial.repeat);
  json.Set("previous", result.trial.previous);
  json.Set("status", ToString(result.status)).Set("reason", result.reason);
  json.Set("exit_code", result.exit_code);
  json.Set("objective", OrNull(result.objective));
  json.Set("objective_step", OrNull(result.objective_step));
  json.Set("seconds_to_target", OrNull(result.seconds_to_target));
  json.Set("samples_to_target", OrNull(result.samples_to_target));
  json.Set("target_reached", result.target_reached);
  json.Set("points", result.points).Set("series_digest", result.series_digest);
  json.Set("samples_per_second", OrNull(result.samples_per_second));
  json.Set("wall_seconds", result.wall_seconds).Set("folder", result.folder);
  json.Set("cached", result.cached);
  return json;
}

std::optional<TrialResult> ParseTrialResult(const Json& json) {
  if (json["schema"].AsString() != kSchema) return std::nullopt;
  TrialResult result;
  result.id = json["id"].AsString();
  result.trial.arm = json["arm"].AsString();
  result.trial.purpose = json["purpose"].AsString();
  for (const auto& [key, value] : json["values"].AsObject()) {
    result.trial.values[key] = value;
  }
  result.trial.ranks = static_cast<int>(json["ranks"].AsInt(1));
  result.trial.seed = static_cast<uint64_t>(json["seed"].AsInt());
  result.trial.batch = json["batch"].AsInt();
  result.trial.repeat = static_cast<int>(json["repeat"].AsInt());
  result.trial.previous = json["previous"].AsString();
  for (const TrialStatus status : kStatuses) {
    if (json["status"].AsString() == ToString(status)) result.status = status;
  }
  result.reason = json["reason"].AsString();
  result.exit_code = static_cast<int>(json["exit_code"].AsInt());
  result.objective = DoubleOf(json["objective"]);
  result.objective_step = IntOf(json["objective_step"]);
  result.seconds_to_target = DoubleOf(json["seconds_to_target"]);
  result.samples_to_target = IntOf(json["samples_to_target"]);
  result.target_reached = json["target_reached"].AsBool();
  result.points = json["points"].AsInt();
  result.series_digest = json["series_digest"].AsString();
  result.samples_per_second = DoubleOf(json["samples_per_second"]);
  result.wall_seconds = json["wall_seconds"].AsDouble();
  result.folder = json["folder"].AsString();
  result.cached = json["cached"].AsBool();
  return result;
}

}  // namespace stepslack::study

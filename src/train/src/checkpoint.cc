#include "checkpoint.h"

#include <algorithm>
#include <utility>

#include "stepslack/base/digest.h"
#include "stepslack/base/file.h"
#include "stepslack/model/state_file.h"

namespace stepslack::train {
namespace {

using base::Json;

constexpr std::string_view kSchema = "stepslack.checkpoint/1";

Json Numbers(const std::vector<double>& values) {
  return Json(Json::Array(values.begin(), values.end()));
}

std::vector<double> ReadNumbers(const Json& json) {
  std::vector<double> values;
  for (const Json& item : json.AsArray()) values.push_back(item.AsDouble());
  return values;
}

Json CursorJson(const TrainCursor& cursor) {
  Json json;
  json.Set("steps", cursor.steps);
  json.Set("samples", cursor.samples);
  json.Set("restarts", cursor.restarts);
  json.Set("train_seconds", cursor.train_seconds);
  json.Set("tuned_bucket_bytes", cursor.tuned_bucket_bytes);
  json.Set("rank_cpu_seconds", Numbers(cursor.rank_cpu_seconds));
  json.Set("target_reached", cursor.target.reached);
  json.Set("seconds_to_target", cursor.target.seconds_to);
  json.Set("seconds_before_target", cursor.target.seconds_before);
  json.Set("samples_to_target", cursor.target.samples_to);
  json.Set("last_eval_seconds", cursor.target.last_eval_seconds);
  return json;
}

TrainCursor ReadCursor(const Json& json) {
  TrainCursor cursor;
  cursor.steps = json["steps"].AsInt();
  cursor.samples = json["samples"].AsInt();
  cursor.restarts = static_cast<int>(json["restarts"].AsInt());
  cursor.train_seconds = json["train_seconds"].AsDouble();
  cursor.tuned_bucket_bytes = json["tuned_bucket_bytes"].AsInt();
  cursor.rank_cpu_seconds = ReadNumbers(json["rank_cpu_seconds"]);
  cursor.target.reached = json["target_reached"].AsBool();
  cursor.target.seconds_to = json["seconds_to_target"].AsDouble();
  cursor.target.seconds_before = json["seconds_before_target"].AsDouble();
  cursor.target.samples_to = json["samples_to_target"].AsInt();
  cursor.target.last_eval_seconds = json["last_eval_seconds"].AsDouble();
  return cursor;
}

// One array a parameter and kind, under "value.", "moment1." and so on.
void AddArrays(model::StateFile& state, const std::string& kind,
               const std::vector<model::ParameterInfo>& parameters,
               std::span<const float> buffer) {
  for (const model::ParameterInfo& info : parameters) {
    model::StateArray& array = state.arrays[kind + info.name];
    array.shape = info.shape;
    const auto first = buffer.begin() + info.offset;
    array.values.assign(first, first + info.count);
  }
}

// False when an array is missing or has another shape.
bool TakeArrays(const model::StateFile& state, const std::string& kind,
                const std::vector<model::ParameterInfo>& parameters,
                std::span<float> buffer) {
  for (const model::ParameterInfo& info : parameters) {
    const auto found = state.arrays.find(kind + info.name);
    if (found == state.arrays.end() || found->second.shape != info.shape) return false;
    std::copy(found->second.values.begin(), found->second.values.end(),
              buffer.begin() + info.offset);
  }
  return true;
}

}  // namespace

std::string PlanDigest(const record::TrainPlan& plan) {
  // A time-out, a trace or an injected fault does not change what is trained: a user
  // may correct those and still resume.
  const record::TrainPlan defaults;
  record::TrainPlan effective = plan;
  // The data's own digest is kept beside this one: where the files lie does not matter.
  effective.inputs_path = base::FileName(plan.inputs_path);
  effective.targets_path = base::FileName(plan.targets_path);
  effective.timeout_seconds = defaults.timeout_seconds;
  if (plan.compression == "none") {
    effective.checkpoint_every_samples = defaults.checkpoint_every_samples;
  }
  effective.trace_first_step = defaults.trace_first_step;
  effective.trace_steps = defaults.trace_steps;
  effective.fault_rank = defaults.fault_rank;
  effective.fault_sleep_ms = defaults.fault_sleep_ms;
  effective.fault = defaults.fault;
  effective.fault_step = defaults.fault_step;
  return base::Sha256Of(record::ToJson(effective).Dump(-1));
}

base::Status SaveCheckpoint(const std::string& path, const record::TrainPlan& plan,
                            const TrainCursor& cursor, const Encoding& encoding,
                            model::Network& network, std::span<const StateView> views) {
  Json text;
  text.Set("schema", kSchema);
  text.Set("plan_sha256", PlanDigest(plan));
  text.Set("cursor", CursorJson(cursor));
  text.Set("channel_scale", Numbers(encoding.channel_scale));
  text.Set("target_scale", encoding.target_scale);
  model::StateFile state;
  state.text = text.Dump(-1);
  AddArrays(state, "value.", network.parameters(), network.values());
  for (const StateView& view : views) {
    AddArrays(state, std::string(view.name) + ".", network.parameters(), view.values);
  }
  SS_TRY(const std::string bytes, model::EncodeState(state));
  return base::WriteFileAtomic(path, bytes);
}

base::Result<Restored> LoadCheckpoint(const std::string& path,
                                      const record::TrainPlan& plan,
                                      model::Network& network,
                                      std::span<const StateView> views) {
  SS_TRY(const std::string bytes, base::ReadFile(path));
  SS_TRY(const model::StateFile state, model::DecodeState(bytes, path));
  SS_TRY(const Json text, base::ParseJson(state.text, path));
  if (text["schema"].AsString() != kSchema ||
      text["plan_sha256"].AsString() != PlanDigest(plan)) {
    return base::Fail("TRAIN-0010", base::ExitCode::kInput,
                      "the checkpoint was written by another plan", path,
                      "use a new folder, or delete the checkpoint to start afresh");
  }
  const auto& parameters = network.parameters();
  bool fits = TakeArrays(state, "value.", parameters, network.values());
  for (const StateView& view : views) {
    fits = fits &&
           TakeArrays(state, std::string(view.name) + ".", parameters, view.values);
  }
  if (!fits) {
    return base::Fail("TRAIN-0011", base::ExitCode::kIntegrity,
                      "the checkpoint does not hold the parameters of this network",
                      path, "delete the checkpoint to start afresh");
  }
  Restored restored;
  restored.cursor = ReadCursor(text["cursor"]);
  restored.encoding.channel_scale = ReadNumbers(text["channel_scale"]);
  restored.encoding.target_scale = text["target_scale"].AsDouble();
  return restored;
}

}  // namespace stepslack::train

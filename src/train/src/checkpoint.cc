#include "checkpoint.h"

#include <algorithm>
#include <utility>

#include "stepslack/base/digest.h"
#include "stepslack/base/file.h"

namespace stepslack::train {
namespace {

using base::Json;

constexpr std::string_view kSchema = "stepslack.checkpoint/2";

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

}  // namespace

void AddState(std::string_view name, const std::vector<model::ParameterInfo>& layout,
              std::span<float> buffer, std::vector<NamedArray>& arrays) {
  if (layout.empty()) {
    arrays.push_back(
        {std::string(name), {static_cast<int64_t>(buffer.size())}, buffer});
    return;
  }
  for (const model::ParameterInfo& info : layout) {
    arrays.push_back({std::string(name) + "." + info.name, info.shape,
                      buffer.subspan(static_cast<size_t>(info.offset),
                                     static_cast<size_t>(info.count))});
  }
}

std::string PlanDigest(const record::TrainPlan& plan) {
  // These do not change what is trained: a user may correct them and still resume.
  const record::TrainPlan defaults;
  record::TrainPlan effective = plan;
  // The data's own digest is kept beside this one: where the files lie does not matter.
  effective.inputs_path = base::FileName(plan.inputs_path);
  effective.targets_path = base::FileName(plan.targets_path);
  effective.timeout_seconds = defaults.timeout_seconds;
  // With compression a checkpoint gathers what was not sent yet, which changes bits.
  if (plan.compression == "none") {
    effective.checkpoint_every_samples = defaults.checkpoint_every_samples;
  }
  effective.trace_first_step = defaults.trace_first_step;
  effective.trace_steps = defaults.trace_steps;
  effective.loader_threads = defaults.loader_threads;
  effective.prefetch_batches = defaults.prefetch_batches;
  effective.keep_checkpoints = defaults.keep_checkpoints;
  effective.async_checkpoint = defaults.async_checkpoint;
  effective.hash_every_steps = defaults.hash_every_steps;
  effective.export_torchscript = defaults.export_torchscript;
  effective.link_latency_us = defaults.link_latency_us;
  effective.link_megabits = defaults.link_megabits;
  effective.link_loss = defaults.link_loss;
  effective.fault = defaults.fault;
  effective.fault_step = defaults.fault_step;
  effective.fault_rank = defaults.fault_rank;
  effective.fault_sleep_ms = defaults.fault_sleep_ms;
  return base::Sha256Of(record::ToJson(effective).Dump(-1));
}

std::string CheckpointText(const record::TrainPlan& plan, const TrainCursor& cursor,
                           const base::Json& data) {
  Json text;
  text.Set("schema", kSchema);
  text.Set("plan_sha256", PlanDigest(plan));
  text.Set("cursor", CursorJson(cursor));
  text.Set("data", data);
  return text.Dump(-1);
}

base::Result<TrainCursor> TakeCheckpoint(const model::StateFile& state,
                                         const std::string& path,
                                         const record::TrainPlan& plan,
                                         const base::Json& data,
                                         std::span<const NamedArray> arrays) {
  SS_TRY(const Json text, base::ParseJson(state.text, path));
  if (text["schema"].AsString() != kSchema ||
      text["plan_sha256"].AsString() != PlanDigest(plan)) {
    return base::Fail("TRAIN-0010", base::ExitCode::kInput,
                      "the checkpoint was written by another plan", path,
                      "use a new folder, or delete the checkpoints to start afresh");
  }
  // As text: what was read back must be what was written.
  if (text["data"].Dump(-1) != data.Dump(-1)) {
    return base::Fail("TRAIN-0013", base::ExitCode::kInput,
                      "the data have changed since the checkpoint was written", path,
                      "delete the checkpoints to train on the new data");
  }
  for (const NamedArray& array : arrays) {
    const auto found = state.arrays.find(array.name);
    if (found != state.arrays.end() && found->second.shape == array.shape &&
        found->second.values.size() == array.values.size()) {
      continue;
    }
    return base::Fail("TRAIN-0011", base::ExitCode::kIntegrity,
                      "the checkpoint does not hold `" + array.name +
                          "` as this network and optimizer need it",
                      path, "delete the checkpoints to start afresh");
  }
  for (const NamedArray& array : arrays) {
    const std::vector<float>& values = state.arrays.at(array.name).values;
    std::copy(values.begin(), values.end(), array.values.begin());
  }
  return ReadCursor(text["cursor"]);
}

}  // namespace stepslack::train

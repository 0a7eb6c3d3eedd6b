#include "stepslack/record/train_plan.h"

#include <cmath>
#include <set>
#include <type_traits>
#include <utility>

#include "stepslack/base/text.h"

namespace stepslack::record {
namespace {

using base::Json;

constexpr std::string_view kSchema = "stepslack.train_plan/1";

// Names every field once; ToJson and the reader both walk this list, so a field can not
// be written and forgotten in reading.
template <typename Plan, typename Visitor>
void VisitFields(Plan& plan, Visitor&& visit) {
  visit("inputs_path", plan.inputs_path);
  visit("targets_path", plan.targets_path);
  visit("dataset_sha256", plan.dataset_sha256);
  visit("train_indices", plan.train_indices);
  visit("validation_indices", plan.validation_indices);
  visit("test_indices", plan.test_indices);
  visit("categorical_channels", plan.categorical_channels);
  visit("category_counts", plan.category_counts);
  visit("augment", plan.augment);
  visit("augment_turns", plan.augment_turns);
  visit("model", plan.model);
  visit("base_channels", plan.base_channels);
  visit("levels", plan.levels);
  visit("hidden", plan.hidden);
  visit("stem", plan.stem);
  visit("norm", plan.norm);
  visit("loss", plan.loss);
  visit("precision", plan.precision);
  visit("global_batch", plan.global_batch);
  visit("samples", plan.samples);
  visit("learning_rate", plan.learning_rate);
  visit("weight_decay", plan.weight_decay);
  visit("warmup_samples", plan.warmup_samples);
  visit("clip_norm", plan.clip_norm);
  visit("seed", plan.seed);
  visit("optimizer", plan.optimizer);
  visit("momentum", plan.momentum);
  visit("schedule", plan.schedule);
  visit("learning_rate_scaling", plan.learning_rate_scaling);
  visit("reference_batch", plan.reference_batch);
  visit("accumulation", plan.accumulation);
  visit("eval_every_samples", plan.eval_every_samples);
  visit("target_relative_mae", plan.target_relative_mae);
  visit("predict_test", plan.predict_test);
  visit("first_bucket_bytes", plan.first_bucket_bytes);
  visit("bucket_bytes", plan.bucket_bytes);
  visit("overlap", plan.overlap);
  visit("step_overlap", plan.step_overlap);
  visit("backend", plan.backend);
  visit("all_reduce", plan.all_reduce);
  visit("compression", plan.compression);
  visit("topk_share", plan.topk_share);
  visit("powersgd_rank", plan.powersgd_rank);
  visit("tune_buckets", plan.tune_buckets);
  visit("link_latency_us", plan.link_latency_us);
  visit("link_megabits", plan.link_megabits);
  visit("link_loss", plan.link_loss);
  visit("timeout_seconds", plan.timeout_seconds);
  visit("synchronise", plan.synchronise);
  visit("loader_threads", plan.loader_threads);
  visit("prefetch_batches", plan.prefetch_batches);
  visit("checkpoint_every_samples", plan.checkpoint_every_samples);
  visit("keep_checkpoints", plan.keep_checkpoints);
  visit("async_checkpoint", plan.async_checkpoint);
  visit("hash_every_steps", plan.hash_every_steps);
  visit("export_torchscript", plan.export_torchscript);
  visit("trace_first_step", plan.trace_first_step);
  visit("trace_steps", plan.trace_steps);
  visit("fault", plan.fault);
  visit("fault_step", plan.fault_step);
  visit("fault_rank", plan.fault_rank);
  visit("fault_sleep_ms", plan.fault_sleep_ms);
}

template <typename T>
Json Encode(const T& value) {
  if constexpr (std::is_same_v<T, std::vector<int64_t>> ||
                std::is_same_v<T, std::vector<int>>) {
    Json::Array array;
    array.reserve(value.size());
    for (auto item : value) array.emplace_back(static_cast<int64_t>(item));
    return Json(std::move(array));
  } else {
    return Json(value);
  }
}

bool Decode(const Json& json, std::string& value) {
  value = json.AsString();
  return json.is_string();
}
bool Decode(const Json& json, bool& value) {
  value = json.AsBool();
  return json.is_bool();
}
bool Decode(const Json& json, double& value) {
  value = json.AsDouble();
  return json.is_number() && std::isfinite(value);
}
bool Decode(const Json& json, int64_t& value) {
  value = json.AsInt();
  return json.is_int();
}
// JSON integers are signed 64 bit; a seed keeps its bits through the two's complement.
bool Decode(const Json& json, uint64_t& value) {
  value = static_cast<uint64_t>(json.AsInt());
  return json.is_int();
}
bool Decode(const Json& json, int& value) {
  const int64_t wide = json.AsInt();
  value = static_cast<int>(wide);
  return json.is_int() && wide == value;
}
template <typename T>
bool Decode(const Json& json, std::vector<T>& value) {
  if (!json.is_array()) return false;
  value.clear();
  value.reserve(json.AsArray().size());
  for (const Json& item : json.AsArray()) {
    if (!Decode(item, value.emplace_back())) return false;
  }
  return true;
}

std::string_view ExpectedKind(const Json& example) {
  if (example.is_bool()) return "true or false";
  if (example.is_string()) return "text";
  if (example.is_int()) return "an integer";
  if (example.is_number()) return "a finite number";
  return "a list of integers";
}

base::Status Refuse(std::string what, std::string_view name, std::string help) {
  return base::Fail("REC-0003", base::ExitCode::kUsage, std::move(what),
                    std::string(name), std::move(help));
}

base::Status CheckKeys(const Json& json, std::string_view name) {
  std::vector<std::string> known = {"schema"};
  TrainPlan sample;
  VisitFields(sample, [&](std::string_view key, auto&) { known.emplace_back(key); });
  const std::set<std::string, std::less<>> known_set(known.begin(), known.end());
  for (const auto& [key, value] : json.AsObject()) {
    if (known_set.contains(key)) continue;
    const std::string near = base::DidYouMean(key, known);
    return Refuse("unknown key '" + key + "' in the training plan", name,
                  near.empty() ? "remove it" : "did you mean '" + near + "'?");
  }
  return {};
}

}  // namespace

Json ToJson(const TrainPlan& plan) {
  Json json;
  json.Set("schema", kSchema);
  VisitFields(plan, [&](std::string_view key, const auto& value) {
    json.Set(key, Encode(value));
  });
  return json;
}

base::Result<TrainPlan> TrainPlanFromJson(const Json& json, std::string_view name) {
  auto check = [&]() -> base::Status {
    if (!json.is_object() || json["schema"].AsString() != kSchema) {
      return Refuse("not a training plan of schema " + std::string(kSchema), name,
                    "write the plan with this version of stepslack");
    }
    return CheckKeys(json, name);
  };
  SS_RETURN_IF_ERROR(check());

  TrainPlan plan;
  std::string wrong;
  VisitFields(plan, [&](std::string_view key, auto& value) {
    if (!json.Has(key)) return;  // absent: the default
    const Json example = Encode(value);
    if (!Decode(json[key], value) && wrong.empty()) {
      wrong = "key '" + std::string(key) + "' must be ";
      wrong += ExpectedKind(example);
    }
  });
  if (!wrong.empty()) {
    return tl::unexpected(Refuse(wrong, name, "correct the value in the plan").error());
  }
  return plan;
}

}  // namespace stepslack::record

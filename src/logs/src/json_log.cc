#include "stepslack/logs/json_log.h"

#include <cmath>

#include "python_json.h"
#include "series_builder.h"
#include "stepslack/base/text.h"

namespace stepslack::logs {
namespace {

using base::Json;
using trace::Severity;

constexpr size_t kHead = size_t{64} << 10;

void AddRecord(const Json& record, size_t index, SeriesBuilder& builder) {
  if (!record.is_object() || !record["step"].is_int()) {
    builder.stats().Add("record without a step", Severity::kWarning,
                        static_cast<int64_t>(index));
    return;
  }
  builder.Begin({.step = record["step"].AsInt(), .offset = index});
  const bool totals = record.Has("train_runtime");
  for (const auto& [key, value] : record.AsObject()) {
    if (key == "step" || value.is_null()) continue;
    const auto text = NumberText(value);
    if (!text) {
      builder.stats().Add("field that is no number", Severity::kInfo,
                          static_cast<int64_t>(index));
    } else if (totals && key == "train_loss") {
      builder.Text("train_loss_mean", *text);
    } else {
      builder.Text(key, *text);
    }
  }
  builder.End();
}

// Samples of a step, from the totals at the end of the log.
void DeriveBatch(SeriesSet& set) {
  const Series* rate = set.Find("train_samples_per_second");
  const Series* seconds = set.Find("train_runtime");
  if (set.run.global_batch_size || rate == nullptr || seconds == nullptr) return;
  const Point& end = rate->points.back();
  if (end.step <= 0) return;
  const double batch =
      end.value * seconds->points.back().value / static_cast<double>(end.step);
  // Three decimals of samples per second: a whole number within 1 % is the batch.
  if (!(batch >= 0.99 && batch < 1e9)) return;
  const double whole = std::round(batch);
  if (std::abs(batch / whole - 1) > kCheckTolerance) return;
  set.run.global_batch_size = static_cast<int64_t>(whole);
  set.run.derived["global_batch_size"] =
      "train_samples_per_second x train_runtime / steps";
}

void AddFact(const Json& state, std::string_view key, RunMeta& run) {
  const Json& value = state[key];
  if (const auto text = NumberText(value)) {
    run.facts[std::string(key)] = *text;
  } else if (value.is_string()) {
    run.facts[std::string(key)] = value.AsString();
  }
}

void AddGolden(const std::string& metric, const Json& entry, SeriesBuilder& builder) {
  const Json& values = entry["values"];
  const auto add = [&](int64_t step, const Json& value) {
    const auto text = NumberText(value);
    if (!text) {
      builder.stats().Add("value that is no number", Severity::kWarning, 0);
      return;
    }
    builder.Begin({.step = step, .offset = static_cast<size_t>(step)});
    builder.Text(metric, *text);
    builder.End();
  };
  // Members of an object come by the order of their text, "10" before "2".
  std::map<int64_t, const Json*> by_step;
  for (const auto& [key, value] : values.AsObject()) {
    const auto step = base::ParseInt(key);
    if (step && *step >= 0) {
      by_step[*step] = &value;
    } else {
      builder.stats().Add("step that is no number", Severity::kWarning, 0);
    }
  }
  for (const auto& [step, value] : by_step) add(step, *value);
  const int64_t interval = entry["step_interval"].AsInt(1);
  int64_t step = entry["start_step"].AsInt(0);
  if (interval < 0 || interval > 1'000'000'000 || step < 0 ||
      step > (int64_t{1} << 40)) {
    builder.stats().Add("step interval out of range", Severity::kWarning, 0);
    return;
  }
  for (const Json& value : values.AsArray()) {
    add(step, value);
    step += interval;
  }
}

}  // namespace

bool LooksLikeTrainerState(std::string_view text) {
  text = base::Trim(text);
  return text.starts_with('{') &&
         text.substr(0, kHead).find("\"log_history\"") != std::string_view::npos;
}

base::Result<SeriesSet> ParseTrainerState(std::string_view text,
                                          std::string_view name) {
  SS_TRY(const Json state, ParsePythonJson(text, name));
  SeriesBuilder builder(name, "trainer_state");
  RunMeta& run = builder.set().run;
  run.framework = "huggingface";
  size_t index = 0;
  for (const Json& record : state["log_history"].AsArray()) {
    AddRecord(record, ++index, builder);
  }
  if (builder.empty()) {
    return base::Fail("LOGS-0020", base::ExitCode::kInput,
                      "log_history has no record with a step and a number",
                      std::string(name),
                      "take trainer_state.json from a checkpoint that was trained with "
                      "logging");
  }
  if (state["max_steps"].AsInt() > 0) run.planned_steps = state["max_steps"].AsInt();
  for (const char* key : {"best_metric", "num_train_epochs", "global_step",
                          "total_flos", "train_batch_size"}) {
    AddFact(state, key, run);
  }
  DeriveBatch(builder.set());
  return builder.Finish();
}

bool LooksLikeGoldenValues(std::string_view text) {
  text = base::Trim(text);
  const std::string_view head = text.substr(0, kHead);
  return text.starts_with('{') &&
         head.find("\"step_interval\"") != std::string_view::npos &&
         head.find("\"values\"") != std::string_view::npos;
}

base::Result<SeriesSet> ParseGoldenValues(std::string_view text,
                                          std::string_view name) {
  SS_TRY(const Json json, ParsePythonJson(text, name));
  SeriesBuilder builder(name, "golden_values");
  builder.set().run.framework = "megatron";
  for (const auto& [metric, entry] : json.AsObject()) AddGolden(metric, entry, builder);
  if (builder.empty()) {
    return base::Fail("LOGS-0021", base::ExitCode::kInput,
                      "no metric of the golden values has a value", std::string(name),
                      "expected {\"lm loss\": {\"values\": {\"1\": 10.9}}}");
  }
  return builder.Finish();
}

}  // namespace stepslack::logs

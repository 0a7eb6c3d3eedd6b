#include "stepslack/record/run_record.h"

#include "stepslack/base/file.h"
#include "stepslack/base/text.h"

namespace stepslack::record {
namespace {

using base::Json;

constexpr std::string_view kSchema = "stepslack.run/1";
constexpr int kMaxRanks = 65536;  // a bound on what a damaged run.json can ask for

// One list of fields per record, walked by the writer and by the reader.
template <typename Record, typename Visitor>
void VisitStep(Record& r, Visitor&& visit) {
  visit("step", r.step);
  visit("epoch", r.epoch);
  visit("samples_total", r.samples_total);
  visit("rank_samples", r.rank_samples);
  visit("start_ns", r.start_ns);
  visit("step_ns", r.step_ns);
  visit("data_ns", r.data_ns);
  visit("forward_ns", r.forward_ns);
  visit("backward_ns", r.backward_ns);
  visit("comm_wait_ns", r.comm_wait_ns);
  visit("optimizer_ns", r.optimizer_ns);
  visit("comm_bytes", r.comm_bytes);
  visit("minor_faults", r.minor_faults);
  visit("major_faults", r.major_faults);
  visit("voluntary_switches", r.voluntary_switches);
  visit("involuntary_switches", r.involuntary_switches);
  visit("run_queue_ns", r.run_queue_ns);
  visit("throttled_ns", r.throttled_ns);
  visit("throttle_count", r.throttle_count);
  visit("resident_bytes", r.resident_bytes);
  visit("cpu_seconds", r.cpu_seconds);
  visit("loss", r.loss);
  visit("grad_norm", r.grad_norm);
  visit("learning_rate", r.learning_rate);
  visit("sample_digest", r.sample_digest);
}

// Present on the steps that were hashed only.
template <typename Record, typename Visitor>
void VisitLadder(Record& r, Visitor&& visit) {
  visit("parameter_hash", r.parameter_hash);
  visit("reduced_gradient_hash", r.reduced_gradient_hash);
  visit("sample_hash", r.sample_hash);
  visit("local_gradient_hash", r.local_gradient_hash);
}

template <typename Record, typename Visitor>
void VisitEval(Record& r, Visitor&& visit) {
  visit("step", r.step);
  visit("samples_total", r.samples_total);
  visit("train_seconds", r.train_seconds);
  visit("eval_seconds", r.eval_seconds);
  visit("loss", r.loss);
  visit("relative_mae", r.relative_mae);
  visit("mae_mv", r.mae_mv);
}

template <typename Record, typename Visitor>
void VisitSummary(Record& r, Visitor&& visit) {
  visit("status", r.status);
  visit("failure", r.failure);
  visit("world_size", r.world_size);
  visit("parameters", r.parameters);
  visit("steps", r.steps);
  visit("samples", r.samples);
  visit("startup_seconds", r.startup_seconds);
  visit("train_seconds", r.train_seconds);
  visit("cpu_seconds", r.cpu_seconds);
  visit("target_reached", r.target_reached);
  visit("seconds_to_target", r.seconds_to_target);
  visit("seconds_before_target", r.seconds_before_target);
  visit("samples_to_target", r.samples_to_target);
  visit("restarts", r.restarts);
  visit("parameters_sha256", r.parameters_sha256);
  visit("predictions_sha256", r.predictions_sha256);
  visit("inference_seconds_per_map", r.inference_seconds_per_map);
  visit("inference_cpu_seconds_per_map", r.inference_cpu_seconds_per_map);
}

void Read(const Json& json, std::string& value) { value = json.AsString(); }
void Read(const Json& json, int64_t& value) { value = json.AsInt(value); }
void Read(const Json& json, int& value) { value = static_cast<int>(json.AsInt(value)); }
void Read(const Json& json, double& value) { value = json.AsDouble(value); }
void Read(const Json& json, bool& value) { value = json.AsBool(value); }

Json TextArray(const std::vector<std::string>& texts) {
  return Json(Json::Array(texts.begin(), texts.end()));
}

std::vector<std::string> Texts(const Json& json) {
  std::vector<std::string> texts;
  for (const Json& text : json.AsArray()) texts.push_back(text.AsString());
  return texts;
}

// A metric line must carry its step number; other fields may be missing in files of an
// older version.
bool HasStep(const Json& json) { return json["step"].is_int(); }

// Reads one metrics file; a missing file is a rank that left nothing.
void ReadMetrics(const std::string& path, std::vector<StepRecord>& steps,
                 std::vector<EvalRecord>* evals, int64_t& skipped) {
  const auto text = base::ReadFile(path);
  if (!text.has_value()) return;
  for (std::string_view line : base::Split(*text, '\n')) {
    if (base::Trim(line).empty()) continue;
    const auto json = base::ParseJson(line, path);
    const std::string kind = json.has_value() ? (*json)["kind"].AsString() : "";
    if (kind == "step" && HasStep(*json)) {
      const auto read = [&](std::string_view key, auto& value) {
        Read((*json)[key], value);
      };
      StepRecord& record = steps.emplace_back();
      VisitStep(record, read);
      VisitLadder(record, read);
    } else if (kind == "eval" && HasStep(*json)) {
      EvalRecord record;
      VisitEval(record,
                [&](std::string_view key, auto& value) { Read((*json)[key], value); });
      if (evals != nullptr) evals->push_back(record);
    } else {
      ++skipped;
    }
  }
}

Json TextMap(const std::map<std::string, std::string>& texts) {
  Json::Object object;
  for (const auto& [key, value] : texts) object[key] = Json(value);
  return Json(std::move(object));
}

std::map<std::string, std::string> TextsByName(const Json& json) {
  std::map<std::string, std::string> texts;
  for (const auto& [key, value] : json.AsObject()) texts[key] = value.AsString();
  return texts;
}

}  // namespace

Json ToJson(const StepRecord& record) {
  Json json;
  json.Set("kind", "step");
  VisitStep(record,
            [&](std::string_view key, const auto& value) { json.Set(key, value); });
  VisitLadder(record, [&](std::string_view key, const std::string& value) {
    if (!value.empty()) json.Set(key, value);
  });
  return json;
}

Json ToJson(const EvalRecord& record) {
  Json json;
  json.Set("kind", "eval");
  VisitEval(record,
            [&](std::string_view key, const auto& value) { json.Set(key, value); });
  return json;
}

Json ToJson(const RunSummary& summary) {
  Json json;
  json.Set("schema", kSchema);
  VisitSummary(summary,
               [&](std::string_view key, const auto& value) { json.Set(key, value); });
  json.Set("runtime", TextMap(summary.runtime));
  json.Set("tags", TextMap(summary.tags));
  json.Set("config", summary.config);
  Json::Array rank_cpu;
  for (double seconds : summary.rank_cpu_seconds) rank_cpu.emplace_back(seconds);
  json.Set("rank_cpu_seconds", Json(std::move(rank_cpu)));
  json.Set("host", summary.host);
  json.Set("hardware_tags", TextArray(summary.hardware_tags));
  json.Set("runtime_tags", TextArray(summary.runtime_tags));
  return json;
}

base::Result<RunSummary> ReadRunSummary(const std::string& folder) {
  const std::string path = base::JoinPath(folder, "run.json");
  const auto text = base::ReadFile(path);
  const auto json =
      text.has_value() ? base::ParseJson(*text, path) : base::Result<Json>(Json());
  if (!json.has_value() || (*json)["schema"].AsString() != kSchema) {
    return base::Fail("REC-0004", base::ExitCode::kInput,
                      text.has_value() ? "run.json is not of schema stepslack.run/1"
                                       : "no run.json: the run has not finished",
                      path, "run the training again, it resumes from its checkpoint");
  }
  RunSummary summary;
  VisitSummary(summary,
               [&](std::string_view key, auto& value) { Read((*json)[key], value); });
  summary.runtime = TextsByName((*json)["runtime"]);
  summary.tags = TextsByName((*json)["tags"]);
  summary.config = (*json)["config"];
  for (const Json& seconds : (*json)["rank_cpu_seconds"].AsArray()) {
    summary.rank_cpu_seconds.push_back(seconds.AsDouble());
  }
  summary.host = (*json)["host"];
  summary.hardware_tags = Texts((*json)["hardware_tags"]);
  summary.runtime_tags = Texts((*json)["runtime_tags"]);
  return summary;
}

std::string MetricsFileName(int rank) {
  return rank == 0 ? "metrics.jsonl" : "metrics.rank" + std::to_string(rank) + ".jsonl";
}

std::string LogFileName(int rank) {
  return rank == 0 ? "log.txt" : "log.rank" + std::to_string(rank) + ".txt";
}

base::Result<RunRecord> ReadRun(const std::string& folder) {
  SS_TRY(RunSummary summary, ReadRunSummary(folder));
  SS_TRY(RunRecord run, ReadRunMetrics(folder, summary.world_size));
  run.summary = std::move(summary);
  return run;
}

base::Result<RunRecord> ReadRunMetrics(const std::string& folder, int world_size) {
  if (world_size < 1 || world_size > kMaxRanks) {
    return base::Fail("REC-0010", base::ExitCode::kInput,
                      "run.json names " + std::to_string(world_size) + " ranks",
                      base::JoinPath(folder, "run.json"), "run the training again");
  }
  RunRecord run;
  run.folder = folder;
  for (int rank = 0; rank < world_size; ++rank) {
    ReadMetrics(base::JoinPath(folder, MetricsFileName(rank)), run.steps.emplace_back(),
                rank == 0 ? &run.evals : nullptr, run.skipped_lines);
  }
  return run;
}

}  // namespace stepslack::record

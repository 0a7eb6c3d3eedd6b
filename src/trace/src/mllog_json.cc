#include <utility>

#include "stepslack/trace/mllog.h"

namespace stepslack::trace {
namespace {

using base::Json;

double Seconds(int64_t ns) { return static_cast<double>(ns) * 1e-9; }

void SetSeconds(Json& json, std::string_view key, const std::optional<int64_t>& ns,
                const std::string& reason) {
  if (ns) {
    json.Set(key, Seconds(*ns));
  } else {
    json.Set(key, nullptr);
    json.Set(std::string(key) + "_reason", reason);
  }
}

void SetNumber(Json& json, std::string_view key, const std::optional<int64_t>& value) {
  if (value) json.Set(key, *value);
}

Json Points(const std::vector<MllogPoint>& points) {
  Json list{Json::Array{}};
  for (const MllogPoint& point : points) {
    Json entry;
    entry.Set("time_ns", point.time_ns);
    entry.Set("value", point.value);
    if (!point.metric.empty()) entry.Set("metric", point.metric);
    if (point.at.epoch) entry.Set("epoch", *point.at.epoch);
    SetNumber(entry, "samples", point.at.samples);
    list.Append(std::move(entry));
  }
  return list;
}

Json IntervalCounts(const std::vector<MllogInterval>& intervals) {
  Json json{Json::Object{}};
  for (const MllogInterval& interval : intervals) {
    const std::string_view kind = ToString(interval.kind);
    Json entry;
    entry.Set("count", json[kind]["count"].AsInt() + 1);
    entry.Set("seconds", json[kind]["seconds"].AsDouble() +
                             Seconds(interval.end_ns - interval.start_ns));
    json.Set(kind, std::move(entry));
  }
  return json;
}

}  // namespace

base::Json ToJson(const MllogRun& run) {
  Json json;
  json.Set("benchmark", run.benchmark);
  json.Set("submitter", run.submitter);
  json.Set("platform", run.platform);
  json.Set("status", run.status);
  SetNumber(json, "seed", run.seed);
  SetNumber(json, "global_batch_size", run.global_batch_size);
  SetNumber(json, "train_samples", run.train_samples);
  SetNumber(json, "eval_samples", run.eval_samples);
  SetSeconds(json, "init_s", run.init_ns, run.no_init);
  SetSeconds(json, "run_s", run.run_ns, run.no_run);
  SetSeconds(json, "eval_s", run.eval_ns, run.no_eval);
  SetSeconds(json, "train_s", run.train_ns, run.no_eval);
  json.Set("eval_after_run_s", Seconds(run.eval_after_run_ns));
  json.Set("eval_accuracy", Points(run.eval_accuracy));
  json.Set("throughput", Points(run.throughput));
  json.Set("intervals", IntervalCounts(run.intervals));
  json.Set("lines", run.lines);
  json.Set("stats", ToJson(run.stats));
  return json;
}

}  // namespace stepslack::trace

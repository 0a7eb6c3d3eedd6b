#include "stepslack/logs/series_set.h"

#include <algorithm>
#include <cmath>

namespace stepslack::logs {
namespace {

using base::Json;

Json Number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

Json Points(const Series& series) {
  Json::Array steps, values, samples, times, segments;
  bool any_samples = false;
  bool any_time = false;
  bool restarted = false;
  for (const Point& point : series.points) {
    any_samples |= point.samples.has_value();
    any_time |= point.time_ns.has_value();
    restarted |= point.segment != 0;
    steps.emplace_back(point.step);
    values.push_back(Number(point.value));
    segments.emplace_back(int64_t{point.segment});
    samples.push_back(point.samples ? Json(*point.samples) : Json());
    times.push_back(point.time_ns ? Json(*point.time_ns) : Json());
  }
  Json json;
  json.Set("step", std::move(steps));
  json.Set("value", std::move(values));
  if (any_samples) json.Set("samples", std::move(samples));
  if (any_time) json.Set("time_ns", std::move(times));
  if (restarted) json.Set("segment", std::move(segments));
  return json;
}

Json OneSeries(const Series& series) {
  Json json;
  json.Set("metric", series.metric).Set("original", series.original);
  json.Set("known", series.known).Set("unit", series.unit);
  json.Set("derived", series.derived);
  if (!series.how.empty()) json.Set("how", series.how);
  if (!series.step_source.empty()) json.Set("step_source", series.step_source);
  if (!series.samples_how.empty()) json.Set("samples_how", series.samples_how);
  json.Set("points", Points(series));
  return json;
}

Json OneCheck(const Check& check) {
  Json json;
  json.Set("name", check.name).Set("formula", check.formula);
  json.Set("compared", check.compared).Set("agreed", check.agreed);
  json.Set("passed", check.Passed()).Set("tolerance", check.tolerance);
  json.Set("worst_step", check.worst_step);
  json.Set("expected", Number(check.expected)).Set("found", Number(check.found));
  return json;
}

Json Meta(const RunMeta& run) {
  Json json;
  json.Set("name", run.name).Set("format", run.format);
  json.Set("framework", run.framework).Set("clock", ToString(run.clock));
  json.Set("segments", run.segments);
  const auto set = [&](std::string_view key, const std::optional<int64_t>& value) {
    json.Set(key, value ? Json(*value) : Json());
  };
  set("global_batch_size", run.global_batch_size);
  set("world_size", run.world_size);
  set("sequence_length", run.sequence_length);
  set("planned_steps", run.planned_steps);
  Json::Object facts, derived;
  for (const auto& [key, value] : run.facts) facts[key] = value;
  for (const auto& [key, value] : run.derived) derived[key] = value;
  json.Set("facts", std::move(facts));
  json.Set("derived", std::move(derived));
  return json;
}

}  // namespace

std::string_view ToString(Clock clock) {
  switch (clock) {
    case Clock::kNone:
      return "none";
    case Clock::kUtc:
      return "utc";
    case Clock::kLocal:
      return "local";
    case Clock::kMonotonic:
      return "monotonic";
    case Clock::kRelative:
      return "relative";
  }
  return "none";
}

const Series* SeriesSet::Find(std::string_view metric) const {
  for (const Series& one : series) {
    if (one.metric == metric) return &one;
  }
  for (const Series& one : series) {
    if (one.original == metric) return &one;
  }
  return nullptr;
}

Json ToJson(const SeriesSet& set) {
  Json json;
  json.Set("schema", "stepslack.series/1").Set("run", Meta(set.run));
  Json::Array series, checks, notes;
  for (const Series& one : set.series) series.push_back(OneSeries(one));
  for (const Check& one : set.checks) checks.push_back(OneCheck(one));
  for (const std::string& note : set.notes) notes.emplace_back(note);
  json.Set("series", std::move(series));
  json.Set("checks", std::move(checks));
  json.Set("notes", std::move(notes));
  json.Set("import", trace::ToJson(set.stats));
  return json;
}

}  // namespace stepslack::logs

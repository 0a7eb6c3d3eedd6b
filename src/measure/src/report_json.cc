#include <algorithm>

#include "stepslack/measure/measure_traces.h"

namespace stepslack::measure {
namespace {

using base::Json;

constexpr size_t kKernelsShown = 50;
constexpr size_t kCollectivesShown = 500;

void SetDeviceTimes(const analyze::DeviceTimes& times, Json& json) {
  json.Set("span_ns", times.span_ns);
  json.Set("idle_ns", times.idle_ns);
  json.Set("compute_ns", times.compute_ns);
  json.Set("memory_ns", times.memory_ns);
  json.Set("comm_ns", times.comm_ns);
  json.Set("overlap_ns", times.overlap_ns);
  json.Set("exposed_comm_ns", times.exposed_comm_ns);
  json.Set("exposed_comm_vs_all_ns", times.exposed_comm_vs_all_ns);
}

Json PhasesJson(const analyze::PhaseTimes& phases) {
  Json json;
  json.Set("data_ns", phases.data_ns);
  json.Set("forward_ns", phases.forward_ns);
  json.Set("backward_ns", phases.backward_ns);
  json.Set("optimizer_ns", phases.optimizer_ns);
  json.Set("zero_grad_ns", phases.zero_grad_ns);
  json.Set("eval_ns", phases.eval_ns);
  json.Set("checkpoint_ns", phases.checkpoint_ns);
  return json;
}

Json StepsJson(const analyze::RankTrace& rank) {
  Json steps{Json::Array{}};
  for (const analyze::TraceStep& step : rank.steps) {
    Json json;
    json.Set("step", step.step);
    json.Set("start_ns", step.start_ns);
    json.Set("dur_ns", step.end_ns - step.start_ns);
    SetDeviceTimes(step.device, json);
    json.Set("phases", PhasesJson(step.phases));
    steps.Append(std::move(json));
  }
  return steps;
}

Json KernelsJson(const analyze::RankTrace& rank) {
  Json kernels{Json::Array{}};
  for (size_t i = 0; i < std::min(rank.kernels.size(), kKernelsShown); ++i) {
    const analyze::KernelRow& row = rank.kernels[i];
    Json json;
    json.Set("name", rank.strings.Get(row.name));
    json.Set("kind", ToString(row.kind));
    json.Set("count", row.count);
    json.Set("total_ns", row.total_ns);
    json.Set("min_ns", row.min_ns);
    json.Set("max_ns", row.max_ns);
    kernels.Append(std::move(json));
  }
  return kernels;
}

Json StreamsJson(const analyze::RankTrace& rank) {
  Json streams{Json::Array{}};
  for (const analyze::StreamTimes& times : rank.streams) {
    Json json;
    json.Set("stream", times.stream);
    json.Set("events", times.events);
    json.Set("busy_ns", times.busy_ns);
    json.Set("host_bound_ns", times.host_bound_ns);
    json.Set("kernel_gap_ns", times.kernel_gap_ns);
    json.Set("other_idle_ns", times.other_idle_ns);
    json.Set("max_queue", times.max_queue);
    json.Set("mean_queue", times.mean_queue);
    streams.Append(std::move(json));
  }
  return streams;
}

// The spans of this rank alone: their bandwidth includes waiting for other ranks.
Json CollectivesJson(const analyze::RankTrace& rank) {
  Json spans{Json::Array{}};
  for (size_t i = 0; i < std::min(rank.collectives.size(), kCollectivesShown); ++i) {
    const analyze::CollectiveSpan& span = rank.collectives[i];
    const std::string_view op = rank.strings.Get(span.op);
    Json json;
    json.Set("op", op);
    json.Set("kernel", rank.strings.Get(span.kernel));
    json.Set("group", rank.strings.Get(span.group));
    json.Set("group_size", span.group_size > 0 ? Json(span.group_size) : Json());
    json.Set("seq", span.seq >= 0 ? Json(span.seq) : Json());
    json.Set("bytes", span.bytes > 0 ? Json(span.bytes) : Json());
    json.Set("start_ns", span.start_ns);
    const int64_t length = span.end_ns - span.start_ns;
    json.Set("dur_ns", length);
    if (span.bytes > 0 && length > 0) {
      const double algorithm =
          static_cast<double>(span.bytes) / static_cast<double>(length);
      json.Set("algbw_gbps", algorithm);
      if (span.group_size > 1) {
        json.Set("busbw_gbps", algorithm * analyze::BusFactor(op, span.group_size));
      }
    }
    spans.Append(std::move(json));
  }
  return spans;
}

Json LaunchesJson(const analyze::LaunchTimes& launches) {
  Json json;
  json.Set("matched", launches.matched);
  json.Set("kernels_without_launch", launches.kernels_without_launch);
  json.Set("launches_without_kernel", launches.launches_without_kernel);
  json.Set("cpu_ns", launches.cpu_ns);
  json.Set("delay_ns", launches.delay_ns);
  json.Set("max_delay_ns", launches.max_delay_ns);
  json.Set("before_launch", launches.before_launch);
  return json;
}

Json RankJson(const analyze::RankTrace& rank) {
  Json json;
  json.Set("rank", int64_t{rank.rank});
  json.Set("device", rank.device);
  json.Set("records", rank.records);
  json.Set("events", rank.events);
  json.Set("device_events", rank.device_events);
  json.Set("comm_events", rank.comm_events);
  json.Set("truncated", rank.truncated);
  json.Set("window_start_ns", rank.window_start_ns);
  json.Set("window_end_ns", rank.window_end_ns);
  SetDeviceTimes(rank.total, json);
  json.Set("phases", PhasesJson(rank.phases));
  json.Set("step_source", ToString(rank.step_source));
  json.Set("steps", StepsJson(rank));
  json.Set("kernels", KernelsJson(rank));
  json.Set("kernels_total", static_cast<int64_t>(rank.kernels.size()));
  json.Set("collectives", CollectivesJson(rank));
  json.Set("collectives_total", static_cast<int64_t>(rank.collectives.size()));
  json.Set("streams", StreamsJson(rank));
  json.Set("launches", LaunchesJson(rank.launches));
  Json sources{Json::Array{}};
  for (const std::string& source : rank.sources) sources.Append(source);
  json.Set("sources", std::move(sources));
  return json;
}

Json MissingJson(const TraceReport& report) {
  Json missing{Json::Array{}};
  for (const MissingPart& part : report.missing) {
    Json json;
    json.Set("part", part.part);
    json.Set("reason", part.reason);
    if (!part.where.empty()) json.Set("where", part.where);
    missing.Append(std::move(json));
  }
  return missing;
}

Json InputsJson(const TraceReport& report) {
  Json inputs{Json::Array{}};
  for (const InputRow& row : report.inputs) {
    Json json;
    json.Set("name", row.name);
    json.Set("format", ToString(row.format));
    json.Set("used", row.used);
    json.Set("events", row.events);
    json.Set("truncated", row.truncated);
    if (row.rank >= 0) json.Set("rank", int64_t{row.rank});
    if (!row.note.empty()) json.Set("note", row.note);
    inputs.Append(std::move(json));
  }
  return inputs;
}

Json FootnotesJson(const TraceReport& report) {
  Json notes{Json::Array{}};
  for (const Footnote& note : report.footnotes) {
    Json json;
    json.Set("code", note.code);
    json.Set("text", note.text);
    Json ranks{Json::Array{}};
    for (const int32_t rank : note.ranks) ranks.Append(int64_t{rank});
    json.Set("ranks", std::move(ranks));
    notes.Append(std::move(json));
  }
  return notes;
}

template <typename T>
Json RecordsJson(const std::vector<Named<T>>& records) {
  Json list{Json::Array{}};
  for (const Named<T>& record : records) {
    Json json = ToJson(record.value);
    json.Set("source", record.name);
    list.Append(std::move(json));
  }
  return list;
}

Json HeadlineJson(const TraceReport& report) {
  Json list{Json::Array{}};
  for (const Headline& headline : report.headline) {
    Json json;
    json.Set("name", headline.name);
    json.Set("value", headline.value ? Json(*headline.value) : Json());
    json.Set("text", headline.text);
    list.Append(std::move(json));
  }
  return list;
}

Json WorstJson(const TraceReport& report) {
  Json list{Json::Array{}};
  for (const WorstPlace& place : report.worst) {
    Json json;
    json.Set("what", place.what);
    json.Set("rank", int64_t{place.rank});
    json.Set("step", place.step >= 0 ? Json(place.step) : Json());
    json.Set("start_ns", place.start_ns);
    json.Set("end_ns", place.end_ns);
    json.Set("lost_ns", place.lost_ns);
    list.Append(std::move(json));
  }
  return list;
}

// Every line of `text` but the first gets `indent` blanks more.
std::string Indented(const std::string& text, size_t indent) {
  std::string out;
  out.reserve(text.size() + text.size() / 8);
  for (const char c : text) {
    out += c;
    if (c == '\n') out.append(indent, ' ');
  }
  return out;
}

}  // namespace

std::string WriteJson(const TraceReport& report) {
  Json json;
  json.Set("schema", "stepslack.measure/1");
  json.Set("missing", MissingJson(report));
  json.Set("footnotes", FootnotesJson(report));
  Json import;
  import.Set("counters", trace::ToJson(report.import));
  import.Set("inputs", InputsJson(report));
  json.Set("import", std::move(import));
  const bool compared = report.cross.has_value();
  json.Set("collectives", compared ? analyze::ToJson(*report.cross) : Json());
  json.Set("pop",
           report.pop.parallel_efficiency ? analyze::ToJson(report.pop) : Json());
  json.Set("critical_path",
           report.critical_path.path ? analyze::ToJson(report.critical_path) : Json());
  json.Set("step_series", compared ? analyze::ToJson(report.steps) : Json());
  json.Set("headline", HeadlineJson(report));
  json.Set("worst", WorstJson(report));
  json.Set("what_if", report.what_if ? analyze::ToJson(*report.what_if) : Json());
  const Json runs = report.run_sets ? analyze::ToJson(*report.run_sets) : Json();
  json.Set("runs", runs["runs"]);
  json.Set("sets", runs["sets"]);
  json.Set("hang", report.hang ? analyze::ToJson(*report.hang) : Json());
  json.Set("nccl_inspector", RecordsJson(report.records.inspector_logs));
  json.Set("collective_bench", RecordsJson(report.records.benches));
  json.Set("nccl_debug", RecordsJson(report.records.nccl_logs));
  json.Set("host", RecordsJson(report.records.host_reports));
  json.Set("logs", RecordsJson(report.records.metric_logs));
  json.Set("mllog", RecordsJson(report.records.mllogs));
  // A rank is text before the next one becomes a tree: thousands of them fit.
  std::string out = "{\n";
  bool first = true;
  const auto open_member = [&](std::string_view key) {
    out += first ? "  \"" : ",\n  \"";
    first = false;
    out.append(key).append("\": ");
  };
  bool ranks_written = false;
  const auto write_ranks = [&] {
    open_member("ranks");
    out += '[';
    for (size_t i = 0; i < report.ranks.size(); ++i) {
      out += i == 0 ? "\n    " : ",\n    ";
      out += Indented(RankJson(report.ranks[i]).Dump(), 4);
    }
    out += report.ranks.empty() ? "]" : "\n  ]";
    ranks_written = true;
  };
  for (const auto& [key, value] : json.AsObject()) {
    if (!ranks_written && key > "ranks") write_ranks();
    open_member(key);
    out += Indented(value.Dump(), 2);
  }
  if (!ranks_written) write_ranks();
  out += "\n}\n";
  return out;
}

}  // namespace stepslack::measure

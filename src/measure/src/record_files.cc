#include "record_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "stepslack/analyze/run_files.h"
#include "stepslack/base/file.h"
#include "stepslack/logs/read_log.h"

namespace stepslack::measure {
namespace {

// Dumps and logs become many small objects; op traces and MLPerf logs stay near the
// size of their text.
constexpr int64_t kMostBytes = int64_t{64} << 20;
constexpr int64_t kMostTableBytes = int64_t{1} << 30;

// Keeps a parsed record, or the reason why there is none.
template <typename T>
void Take(base::Result<T> parsed, std::vector<Named<T>>& records, InputRow& row) {
  if (!parsed) {
    row.note = parsed.error().what;
    return;
  }
  row.used = true;
  records.push_back({row.name, std::move(*parsed)});
}

// "trace-ST.csv.gz" is described by "meta-ST.yaml" beside it; empty when there is none.
std::string JobTextOf(const std::string& path) {
  const std::string file = base::FileName(path);
  const size_t dash = file.find('-');
  if (dash == std::string::npos) return "";
  const std::string stem = file.substr(dash, file.find('.') - dash);
  const std::string job =
      base::JoinPath(base::ParentFolder(path), "meta" + stem + ".yaml");
  if (!base::PathExists(job)) return "";
  auto text = base::ReadFile(job);
  return text ? *text : "";
}

trace::HostLogOptions HostOptions(const trace::HostLogPatterns* patterns) {
  trace::HostLogOptions options;
  options.patterns = patterns;
  return options;
}

bool HasCourse(const logs::SeriesSet& log) {
  return std::ranges::any_of(
      log.series, [](const logs::Series& series) { return series.points.size() > 1; });
}

template <typename T>
void Move(std::vector<T>& from, std::vector<T>& to) {
  to.insert(to.end(), std::make_move_iterator(from.begin()),
            std::make_move_iterator(from.end()));
}

}  // namespace

void ReadRecord(const trace::Input& input, trace::ByteSource& source,
                const trace::HostLogPatterns* patterns, RunRecords& records,
                InputRow& row) {
  const bool table = input.format == trace::InputFormat::kOpTrace ||
                     input.format == trace::InputFormat::kMlLog ||
                     input.format == trace::InputFormat::kHostLog;
  auto text = trace::ReadAll(source, input.name, table ? kMostTableBytes : kMostBytes);
  row.truncated = source.damaged();
  if (!text) {
    row.note = text.error().what;
    return;
  }
  switch (input.format) {
    case trace::InputFormat::kFlightRecorder:
      Take(trace::ParseFlightRecorder(*text, input.name), records.flight_dumps, row);
      if (row.used) {
        const trace::FlightDump& dump = records.flight_dumps.back().value;
        row.rank = dump.rank;
        row.events = static_cast<int64_t>(dump.entries.size());
        row.truncated = row.truncated || dump.truncated;
      }
      break;
    case trace::InputFormat::kNcclInspector:
      Take(trace::ParseNcclInspector(*text, input.name), records.inspector_logs, row);
      break;
    case trace::InputFormat::kCollectiveBench:
      Take(trace::ParseCollectiveBench(*text, input.name), records.benches, row);
      // A benchmark that ran with NCCL_DEBUG=INFO says both.
      if (trace::LooksLikeNcclDebug(*text)) {
        Take(trace::ParseNcclDebug(*text, input.name), records.nccl_logs, row);
      }
      break;
    case trace::InputFormat::kNcclDebug:
      Take(trace::ParseNcclDebug(*text, input.name), records.nccl_logs, row);
      break;
    case trace::InputFormat::kOpTrace:
      Take(trace::ParseOpTrace(*text, JobTextOf(input.path), input.name),
           records.op_traces, row);
      if (row.used) {
        row.events = static_cast<int64_t>(records.op_traces.back().value.size());
      }
      break;
    case trace::InputFormat::kMlLog:
      Take(trace::ParseMllog(*text, input.name), records.mllogs, row);
      break;
    case trace::InputFormat::kHostLog:
      Take(trace::ParseHostLog(*text, input.name, HostOptions(patterns)),
           records.host_reports, row);
      break;
    default:
      row.note = "the content is of no format that is read";
      break;
  }
}

void ReadMetricLog(const trace::Input& input, trace::ByteSource& source,
                   RunRecords& records, InputRow& row) {
  row.note = "the content is of no format that is read";
  // A log may begin with pages of other text, so text is searched further than its
  // head; a checkpoint is not.
  const bool text_like = input.head.find('\0') == std::string_view::npos;
  if (!text_like && logs::DetectLogFormat(input.head) == logs::LogFormat::kUnknown) {
    return;
  }
  auto text = trace::ReadAll(source, input.name, kMostTableBytes);
  if (!text) {
    row.note = text.error().what;
    return;
  }
  if (logs::DetectLogFormat(*text) == logs::LogFormat::kUnknown) return;
  row.format = trace::InputFormat::kMetricLog;
  row.truncated = source.damaged();
  row.note.clear();
  Take(logs::ParseLog(*text, input.name), records.metric_logs, row);
}

void Append(RunRecords&& from, RunRecords& to) {
  Move(from.flight_dumps, to.flight_dumps);
  Move(from.inspector_logs, to.inspector_logs);
  Move(from.benches, to.benches);
  Move(from.nccl_logs, to.nccl_logs);
  Move(from.op_traces, to.op_traces);
  Move(from.mllogs, to.mllogs);
  Move(from.host_reports, to.host_reports);
  Move(from.metric_logs, to.metric_logs);
}

// MLPerf logs are read once more (not parsed), with the descriptions of their systems
// beside them.
void CompareRuns(TraceReport& report, const std::optional<MetricTarget>& target) {
  std::set<std::string> paths;
  for (const InputRow& row : report.inputs) {
    if (row.used && row.format == trace::InputFormat::kMlLog) paths.insert(row.path);
  }
  std::vector<analyze::RunOutcome> runs;
  if (!paths.empty()) {
    const std::vector<std::string> list(paths.begin(), paths.end());
    analyze::RunFileOptions options;
    for (const auto& log : report.records.mllogs) options.parsed[log.name] = &log.value;
    auto files = analyze::ReadRunFiles(list, options);
    if (files) {
      runs = std::move(files->runs);
    } else {
      report.missing.push_back({"runs", files.error().what, files.error().where});
    }
  }
  for (const auto& log : report.records.metric_logs) {
    // A summary beside the logs (scaling.json of MLPerf, a system's description).
    if (!HasCourse(log.value)) {
      if (paths.empty()) {
        report.missing.push_back(
            {"runs", "one point a metric, not the course of a run", log.name});
      }
      continue;
    }
    runs.push_back(OutcomeOfLog(log.value, target));
    runs.back().source = log.name;
  }
  if (!runs.empty()) {
    report.run_sets = analyze::GroupRuns(std::move(runs));
  } else if (paths.empty()) {
    report.missing.push_back({"runs", "no training log among the inputs", ""});
  }
}

void AnalyzeRecords(TraceReport& report, const std::optional<MetricTarget>& target) {
  const RunRecords& records = report.records;
  CompareRuns(report, target);
  if (!records.flight_dumps.empty()) {
    std::vector<trace::FlightDump> dumps;
    for (const auto& dump : records.flight_dumps) dumps.push_back(dump.value);
    auto hang = analyze::AnalyzeHang(dumps);
    if (hang) {
      report.hang = std::move(*hang);
    } else {
      report.missing.push_back({"hang", hang.error().what, hang.error().where});
    }
  }
  if (records.flight_dumps.empty()) {
    report.missing.push_back({"hang", "no flight-recorder dump among the inputs", ""});
  }
  if (records.op_traces.empty()) {
    report.missing.push_back({"what_if", "no op trace among the inputs", ""});
    return;
  }
  const auto& first = records.op_traces.front();
  auto what_if = analyze::ComputeWhatIf(first.value);
  if (what_if) {
    report.what_if = std::move(*what_if);
  } else {
    report.missing.push_back({"what_if", what_if.error().what, first.name});
  }
  if (records.op_traces.size() > 1) {
    report.missing.push_back(
        {"what_if",
         fmt::format(
             "{} op traces; the replay is of the first, measure the others alone",
             records.op_traces.size()),
         first.name});
  }
}

}  // namespace stepslack::measure

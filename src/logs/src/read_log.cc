#include "stepslack/logs/read_log.h"

#include "stepslack/base/file.h"
#include "stepslack/base/text.h"
#include "stepslack/logs/json_log.h"
#include "stepslack/logs/mlflow.h"
#include "stepslack/logs/mllog_series.h"
#include "stepslack/logs/text_log.h"
#include "stepslack/logs/tfevents.h"
#include "stepslack/trace/byte_source.h"
#include "stepslack/trace/input_files.h"

namespace stepslack::logs {

std::string_view ToString(LogFormat format) {
  switch (format) {
    case LogFormat::kUnknown:
      return "unknown";
    case LogFormat::kTfevents:
      return "tfevents";
    case LogFormat::kMllog:
      return "mllog";
    case LogFormat::kTrainerState:
      return "trainer_state";
    case LogFormat::kGoldenValues:
      return "golden_values";
    case LogFormat::kJsonLines:
      return "json_lines";
    case LogFormat::kJsonRows:
      return "json_rows";
    case LogFormat::kMlflowMetric:
      return "mlflow";
    case LogFormat::kTextLog:
      return "text_log";
    case LogFormat::kCsv:
      return "csv";
  }
  return "unknown";
}

LogFormat DetectLogFormat(std::string_view text) {
  // What has a structure of its own goes first, free text last.
  if (LooksLikeTfevents(text)) return LogFormat::kTfevents;
  if (trace::LooksLikeMllog(text)) return LogFormat::kMllog;
  if (LooksLikeTrainerState(text)) return LogFormat::kTrainerState;
  if (LooksLikeGoldenValues(text)) return LogFormat::kGoldenValues;
  if (LooksLikeJsonLines(text)) return LogFormat::kJsonLines;
  if (LooksLikeJsonRows(text)) return LogFormat::kJsonRows;
  if (LooksLikeMlflowMetric(text)) return LogFormat::kMlflowMetric;
  if (LooksLikeTextLog(text)) return LogFormat::kTextLog;
  if (LooksLikeCsvLog(text)) return LogFormat::kCsv;
  return LogFormat::kUnknown;
}

base::Result<SeriesSet> ParseLog(std::string_view text, std::string_view name,
                                 const LogOptions& options) {
  switch (DetectLogFormat(text)) {
    case LogFormat::kTfevents:
      return ParseTfevents(text, name);
    case LogFormat::kMllog:
      return ParseMllogSeries(text, name);
    case LogFormat::kTrainerState:
      return ParseTrainerState(text, name);
    case LogFormat::kGoldenValues:
      return ParseGoldenValues(text, name);
    case LogFormat::kJsonLines:
      return ParseJsonLines(text, name, options.mapping);
    case LogFormat::kJsonRows:
      return ParseJsonRows(text, name, options.mapping);
    case LogFormat::kMlflowMetric:
      return ParseMlflowMetric(text, name);
    case LogFormat::kTextLog:
      return ParseTextLog(text, name);
    case LogFormat::kCsv:
      return ParseCsvLog(text, name, options.mapping);
    case LogFormat::kUnknown:
      break;
  }
  return base::Fail(
      "LOGS-0060", base::ExitCode::kInput, "the content is no metric log that is known",
      std::string(name),
      "docs/formats_logs.md lists the formats; other logs can be given as "
      "CSV or JSONL with a step column");
}

base::Result<SeriesSet> ReadLog(const std::string& path, const LogOptions& options) {
  std::string file = path;
  if (base::IsFolder(path)) {
    if (LooksLikeMlflowRun(path)) return ReadMlflowRun(path);
    file = base::JoinPath(path, "metrics.jsonl");
    if (!base::PathExists(file)) {
      return base::Fail("LOGS-0059", base::ExitCode::kInput,
                        "the folder is neither an MLflow run nor a run of this program",
                        path, "name the log file itself");
    }
  }
  SS_TRY(const auto source, trace::OpenFile(file));
  SS_TRY(const std::string text, trace::ReadAll(*source, file, options.max_bytes));
  SS_TRY(SeriesSet set, ParseLog(text, path, options));
  if (source->damaged()) {
    set.stats.Add("gzip stream damaged, read up to there", trace::Severity::kError,
                  static_cast<int64_t>(text.size()));
  }
  return set;
}

}  // namespace stepslack::logs

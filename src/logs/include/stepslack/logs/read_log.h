// One entry for metric logs of any kind: the content decides, never the name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "stepslack/base/result.h"
#include "stepslack/logs/series_set.h"
#include "stepslack/logs/table_log.h"

namespace stepslack::logs {

enum class LogFormat : uint8_t {
  kUnknown,
  kTfevents,
  kMllog,
  kTrainerState,
  kGoldenValues,
  kJsonLines,
  kJsonRows,
  kMlflowMetric,
  kTextLog,
  kCsv
};
std::string_view ToString(LogFormat format);  // "tfevents", "text_log", ...

struct LogOptions {
  int64_t max_bytes = int64_t{2} << 30;  // of the inflated content
  ColumnMapping mapping;                 // of tables
};

// `text`: the whole content (formats of free text are searched for 4 MiB).
LogFormat DetectLogFormat(std::string_view text);

// Errors: LOGS-0060 (unknown content), and those of the reader.
base::Result<SeriesSet> ParseLog(std::string_view text, std::string_view name,
                                 const LogOptions& options = {});

// A file, plain or gzip; or a folder: an MLflow run, or a run of our own (its
// metrics.jsonl). A gzip stream that ends early is read as far as it goes and
// counted. Errors: LOGS-0059 (folder of another kind), TRACE-0003 (not readable),
// TRACE-0002 (larger than max_bytes), and those of ParseLog.
base::Result<SeriesSet> ReadLog(const std::string& path,
                                const LogOptions& options = {});

}  // namespace stepslack::logs

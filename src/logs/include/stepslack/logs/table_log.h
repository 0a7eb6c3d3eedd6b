// Metric tables: CSV of any origin (PyTorch Lightning's CSVLogger, Weights & Biases,
// own scripts) and JSON objects line by line (JSONL). Columns are found by their names
// or named by the user; every other column with numbers is a metric. An empty cell is
// no point.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "stepslack/base/result.h"
#include "stepslack/logs/series_set.h"

namespace stepslack::logs {

enum class TimeUnit : uint8_t {
  kDetect,
  kSeconds,
  kMilliseconds,
  kMicroseconds,
  kNanoseconds
};

// Empty names are found: step, _step, global_step, trainer/global_step, iteration,
// iter; samples_total, consumed_samples; _timestamp, timestamp, wall_time, time (only
// with values that are a date between 1971 and 2042 in one of the units).
struct ColumnMapping {
  std::string step;
  std::string samples;
  std::string time;  // since 1970
  TimeUnit time_unit = TimeUnit::kDetect;
  std::map<std::string, std::string> metrics;  // column -> canonical name
};

// A header of two names or more and a row of as many cells with a number.
bool LooksLikeCsvLog(std::string_view text);

// Separator "," ";" or tab by the header; quotes as in RFC 4180. Counted: rows with
// another number of cells, cells that are no number, header again, rows without a step.
// Weights & Biases exports (name__MIN, name__MAX): the note says that points are means
// over buckets. Errors: LOGS-0010 (no usable row), LOGS-0011 (a named column is
// absent).
base::Result<SeriesSet> ParseCsvLog(std::string_view text, std::string_view name,
                                    const ColumnMapping& mapping = {});

bool LooksLikeJsonLines(std::string_view text);

// Nested objects become names with "/". NaN, Infinity as Python writes them are read.
// Also Weights & Biases histories (_step, _timestamp) and summaries, and the
// metrics*.jsonl of our own runs. Counted: lines that are no JSON object.
// Errors: LOGS-0012 (no usable line), LOGS-0011.
base::Result<SeriesSet> ParseJsonLines(std::string_view text, std::string_view name,
                                       const ColumnMapping& mapping = {});

// One JSON document: an array of such objects, or one object with _step or _runtime.
bool LooksLikeJsonRows(std::string_view text);
// Errors: BASE-0004 (no JSON), LOGS-0013 (no usable object), LOGS-0011.
base::Result<SeriesSet> ParseJsonRows(std::string_view text, std::string_view name,
                                      const ColumnMapping& mapping = {});

}  // namespace stepslack::logs

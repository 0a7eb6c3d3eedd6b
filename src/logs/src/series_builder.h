// Puts the records of a log together to series: names, segments, counters, checks.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "metric_names.h"
#include "self_checks.h"
#include "stepslack/logs/series_set.h"

namespace stepslack::logs {

struct Place {
  int64_t step = 0;
  std::optional<int64_t> samples;
  std::optional<int64_t> time_ns;
  size_t offset = 0;  // of the record in the text
  // Of the record, where the reader knows; otherwise a metric begins a new segment when
  // its step goes back.
  std::optional<int32_t> segment;
  std::string_view step_source;  // "" when the log has the step
  // Who wrote the record. Spellings of a metric by one source are one series; another
  // source's are series of their own, and without a source so is every spelling.
  std::string_view source;
};

// "7,034", "1.5E+00", "+2", "nan", "-inf", "Infinity". No value for other text.
std::optional<double> ParseNumber(std::string_view text);

class SeriesBuilder {
 public:
  explicit SeriesBuilder(std::string_view name, std::string_view format);

  void Begin(const Place& place);
  void Value(std::string_view original, double value);  // as logged, unit by its name
  // In the unit of the canonical metric.
  void ValueAs(std::string_view metric, std::string_view unit,
               std::string_view original, double value);
  // Counts text that is no number; an empty cell is nothing.
  void Text(std::string_view original, std::string_view text);
  void End();

  SeriesSet& set() { return set_; }
  trace::ImportStats& stats() { return set_.stats; }
  bool empty() const { return set_.series.empty(); }

  // Adds what follows from the series, and the checks.
  SeriesSet Finish();

 private:
  struct Slot {
    size_t index = 0;
    size_t last_offset = 0;
    std::string source;
  };

  Slot* SlotOf(const MetricName& name, std::string_view original);
  void Add(const MetricName& name, std::string_view original, double value);

  SeriesSet set_;
  std::map<std::string, Slot, std::less<>> slots_;
  SelfChecks checks_;
  Place place_;
  RecordValues record_;
};

}  // namespace stepslack::logs

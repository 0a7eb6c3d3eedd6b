// Reading of inputs: many at once, each reduced as soon as it is read.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "stepslack/analyze/rank_trace.h"
#include "stepslack/measure/trace_report.h"
#include "stepslack/trace/event_names.h"

namespace stepslack::measure {

// A profiler trace as one file gave it, before ranks are settled.
struct FileTrace {
  size_t row = 0;  // of InputRow
  analyze::RankTrace trace;
  std::set<int64_t> processes;  // of its CPU events
  uint64_t digest = 0;          // of all its kept events
};

struct FileContents {
  std::vector<InputRow> rows;
  std::vector<FileTrace> traces;  // FileTrace::row is an index into `rows` here
  RunRecords records;
};

struct ReadSettings {
  const trace::CollectiveNames* names = nullptr;
  const trace::HostLogPatterns* patterns = nullptr;
  int threads = 0;
};

// In the order of `files`, whatever the number of threads.
std::vector<FileContents> ReadFiles(std::span<const std::string> files,
                                    const ReadSettings& settings);

// The events of all inputs with these names as one sorted store; events that stand in
// more than one of them count once. `repeated` is how many did not.
trace::EventStore ReadTogether(std::span<const InputRow> inputs,
                               const ReadSettings& settings, int64_t& repeated);

}  // namespace stepslack::measure

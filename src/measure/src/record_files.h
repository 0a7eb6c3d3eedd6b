// Records that are read as one piece: dumps, logs, benchmark output, op traces.
#pragma once

#include <optional>

#include "metric_outcome.h"
#include "stepslack/measure/trace_report.h"

namespace stepslack::measure {

// Reads what DetectFormat() recognised into `records`, and says in `row` what became of
// it.
void ReadRecord(const trace::Input& input, trace::ByteSource& source,
                const trace::HostLogPatterns* patterns, RunRecords& records,
                InputRow& row);

// What nothing else recognised may be the metric log of a run.
void ReadMetricLog(const trace::Input& input, trace::ByteSource& source,
                   RunRecords& records, InputRow& row);

void Append(RunRecords&& from, RunRecords& to);

// What follows from records alone: who hangs the job, what stragglers cost.
// `target` is of the metric logs.
void AnalyzeRecords(TraceReport& report, const std::optional<MetricTarget>& target);

}  // namespace stepslack::measure

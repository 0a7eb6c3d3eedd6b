// From a folder of traces to a TraceReport.
#pragma once

#include <string>
#include <vector>

#include "stepslack/base/context.h"
#include "stepslack/base/result.h"
#include "stepslack/measure/trace_report.h"

namespace stepslack::measure {

struct MeasureOptions {
  std::vector<std::string> paths;  // files, folders, patterns, archives
  std::string target;              // of metric logs: "eval_accuracy>=0.9"; "" none
};

// Reads everything that is a trace or a record of a run below the paths. What can not
// be used is in TraceReport::missing. The result does not depend on context.threads.
// Errors: TRACE-0005, TRACE-0006 (nothing there), MEAS-0001 (nothing usable), RUNS-0100
// (target), CONF-000x (the user's table of names of communication).
base::Result<TraceReport> MeasureTraces(const MeasureOptions& options,
                                        const base::Context& context);

// "stepslack.measure/1" as text, keys sorted: see docs/formats.md.
std::string WriteJson(const TraceReport& report);

// Writes one merged Kineto file with corrected clocks and the worst places marked;
// returns what to tell. Errors: those of analyze::ExportMerged; MEAS-0002 (no file that
// can be merged).
base::Result<std::string> ExportTraces(const TraceReport& report,
                                       const std::string& output);

}  // namespace stepslack::measure

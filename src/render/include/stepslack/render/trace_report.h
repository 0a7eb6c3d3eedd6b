// Views of a TraceReport: one screen of text, a document, single tables.
#pragma once

#include <string>
#include <string_view>

#include "stepslack/base/result.h"
#include "stepslack/measure/trace_report.h"
#include "stepslack/render/document.h"

namespace stepslack::render {

// What was read, what is missing, five numbers, the worst three things with rank, step
// and time: at most 40 lines of 100 columns.
std::string RenderTraceText(const measure::TraceReport& report, bool colour);

// What was recognised and read, input by input.
std::string RenderImportText(const measure::TraceReport& report);

// The timeline of all ranks on the common clock (timeline_html.h). Errors: those of
// analyze::BuildPyramid; RENDER-0160 (no profiler trace among the inputs).
base::Result<std::string> RenderTraceTimeline(const measure::TraceReport& report);

// One table for a terminal, at most 100 columns wide and 200 rows; cuts are said.
std::string RenderTableText(const Table& table, bool colour);

Document TraceDocument(const measure::TraceReport& report);

// One row per rank, step, phase, collective, kernel or stream; `by` is one of these.
Table TraceTable(const measure::TraceReport& report, std::string_view by);

// Collectives summed by operation.
Table OperationTable(const measure::TraceReport& report);

}  // namespace stepslack::render

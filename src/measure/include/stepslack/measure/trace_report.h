// Everything that a set of traces says, with what is missing from it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stepslack/analyze/critical_path.h"
#include "stepslack/analyze/cross_rank.h"
#include "stepslack/analyze/hang_analysis.h"
#include "stepslack/analyze/pop_factors.h"
#include "stepslack/analyze/rank_trace.h"
#include "stepslack/analyze/run_sets.h"
#include "stepslack/analyze/step_series.h"
#include "stepslack/analyze/what_if.h"
#include "stepslack/base/json.h"
#include "stepslack/logs/series_set.h"
#include "stepslack/trace/collective_bench.h"
#include "stepslack/trace/flight_recorder.h"
#include "stepslack/trace/host_log.h"
#include "stepslack/trace/import_stats.h"
#include "stepslack/trace/input_files.h"
#include "stepslack/trace/mllog.h"
#include "stepslack/trace/nccl_debug.h"
#include "stepslack/trace/nccl_inspector.h"
#include "stepslack/trace/op_trace.h"

namespace stepslack::measure {

// One input and what became of it.
struct InputRow {
  std::string name;  // to show
  std::string path;  // of the file, or of the archive
  trace::InputFormat format = trace::InputFormat::kUnknown;
  bool used = false;
  std::string note;  // why it was not used, or how its rank was found
  int32_t rank = -1;
  int64_t events = 0;
  bool truncated = false;
};

// A part of the report that is absent or less than it seems, and why.
struct MissingPart {
  std::string part;    // key of the report ("pop"), or "input", "rank"
  std::string reason;  // one sentence
  std::string where;   // file or rank; may be empty
};

// Why a number here differs from the one that another tool prints for the same trace.
struct Footnote {
  std::string code;  // "HTA-ROUND"
  std::string text;
  std::vector<int32_t> ranks;  // where it applies
};

// One of the five numbers of the summary.
struct Headline {
  std::string name;             // "exposed communication"
  std::optional<double> value;  // a share or a factor; absent: see `text`
  std::string text;             // over which ranks it ranges, or why it is absent
};

// A place where time was lost.
struct WorstPlace {
  std::string what;  // one sentence
  int32_t rank = -1;
  int64_t step = -1;     // -1: no step
  int64_t start_ns = 0;  // on the clock of the rank's trace
  int64_t end_ns = 0;
  int64_t lost_ns = 0;
};

// A record and the input that it came from.
template <typename T>
struct Named {
  std::string name;
  T value;
};

// What else a run leaves besides profiler traces; each in the order of the names.
struct RunRecords {
  std::vector<Named<trace::FlightDump>> flight_dumps;
  std::vector<Named<trace::InspectorLog>> inspector_logs;
  std::vector<Named<trace::CollectiveBench>> benches;
  std::vector<Named<trace::NcclDebugLog>> nccl_logs;
  std::vector<Named<trace::OpTrace>> op_traces;
  std::vector<Named<trace::MllogRun>> mllogs;
  std::vector<Named<trace::HostReport>> host_reports;
  std::vector<Named<logs::SeriesSet>> metric_logs;
};

struct TraceReport {
  std::vector<InputRow> inputs;  // by name
  std::vector<MissingPart> missing;
  trace::ImportStats import;
  std::vector<analyze::RankTrace> ranks;    // by rank
  std::optional<analyze::CrossRank> cross;  // absent without ranks
  analyze::PopFactors pop;
  analyze::CriticalPathResult critical_path;
  analyze::StepSeries steps;
  std::vector<Headline> headline;  // five
  std::vector<WorstPlace> worst;   // most time lost first, one of a kind
  std::vector<Footnote> footnotes;
  RunRecords records;
  std::optional<analyze::RunSetReport> run_sets;  // from MLPerf logs
  std::optional<analyze::HangAnalysis> hang;      // from flight-recorder dumps
  std::optional<analyze::WhatIf> what_if;         // from the first op trace
};

}  // namespace stepslack::measure

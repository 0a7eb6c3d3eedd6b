#include "stepslack/measure/measure_traces.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "file_traces.h"
#include "hta_notes.h"
#include "rank_assembly.h"
#include "record_files.h"
#include "stepslack/base/file.h"
#include "summary.h"

namespace stepslack::measure {
namespace {

// Plans, summaries and checkpoints that a run of our own trainer keeps beside what is
// measured here.
bool IsRunBookkeeping(const InputRow& row) {
  const std::string name = base::FileName(row.path);
  if (name.starts_with("trace.") || name.starts_with("metrics.")) return false;
  std::string folder = base::ParentFolder(row.path);
  if (base::FileName(folder) == "checkpoints") folder = base::ParentFolder(folder);
  return base::PathExists(base::JoinPath(folder, "plan.json")) &&
         base::PathExists(base::JoinPath(folder, "metrics.jsonl"));
}

// Inputs that were not used, named one by one only while they are few.
void NoteUnused(TraceReport& report) {
  constexpr size_t kNamed = 20;
  std::map<std::string, std::vector<const InputRow*>> by_reason;
  for (InputRow& row : report.inputs) {
    if (!row.used && IsRunBookkeeping(row)) {
      row.note = "part of a run's record; `stepslack show run` reads it";
      continue;
    }
    if (!row.used) by_reason[row.note].push_back(&row);
    if (row.used && row.truncated) {
      report.missing.push_back(
          {"input", "the input ends inside; what came before is measured", row.name});
    }
  }
  for (const auto& [reason, rows] : by_reason) {
    for (size_t i = 0; i < std::min(rows.size(), kNamed); ++i) {
      report.missing.push_back({"input", reason, rows[i]->name});
    }
    if (rows.size() > kNamed) {
      report.missing.push_back(
          {"input", fmt::format("{} more inputs: {}", rows.size() - kNamed, reason),
           ""});
    }
  }
}

void NoteRanks(TraceReport& report) {
  int64_t world = 0;
  for (const analyze::RankTrace& rank : report.ranks) {
    world = std::max(world, rank.world_size);
    if (rank.events == 0) {
      report.missing.push_back({"rank", "the trace holds no complete event",
                                fmt::format("rank {}", rank.rank)});
    } else if (rank.device == "cpu") {
      report.missing.push_back({"device",
                                "no device events; times are those of the CPU",
                                fmt::format("rank {}", rank.rank)});
    }
    if (rank.events > 0 && rank.steps.empty()) {
      report.missing.push_back(
          {"steps", "no step marks, and no period in optimizer, loader or kernels",
           fmt::format("rank {}", rank.rank)});
    }
  }
  if (report.import.Count(trace::kBytesAfterEnd) > 0) {
    report.missing.push_back(
        {"input", "bytes follow the end of a trace in its file; they are not read",
         ""});
  }
  std::vector<int64_t> absent;
  for (int64_t r = 0; r < std::min<int64_t>(world, 1'000'000); ++r) {
    const bool there = std::binary_search(
        report.ranks.begin(), report.ranks.end(), r, [](const auto& a, const auto& b) {
          if constexpr (std::is_same_v<std::decay_t<decltype(a)>, int64_t>) {
            return a < b.rank;
          } else {
            return a.rank < b;
          }
        });
    if (!there) absent.push_back(r);
  }
  if (absent.empty()) return;
  const size_t shown = std::min<size_t>(absent.size(), 16);
  report.missing.push_back(
      {"rank",
       fmt::format(
           "{} of {} ranks have no trace: {}{}", absent.size(), world,
           fmt::join(absent.begin(), absent.begin() + static_cast<long>(shown), ", "),
           shown < absent.size() ? ", ..." : ""),
       ""});
}

// Those of the file that STEPSLACK_HOSTLOGS names go before the built-in ones.
base::Result<trace::HostLogPatterns> HostPatterns() {
  const char* const path = std::getenv("STEPSLACK_HOSTLOGS");
  return path == nullptr || *path == '\0' ? trace::ShippedHostLogPatterns()
                                          : trace::LoadHostLogPatterns(path);
}

void NoteReasons(std::string part, const std::vector<std::string>& reasons,
                 TraceReport& report) {
  for (const std::string& reason : reasons) {
    report.missing.push_back({part, reason, ""});
  }
}

void CompareRanks(TraceReport& report) {
  if (report.ranks.empty()) {
    for (const char* part : {"collectives", "pop", "critical_path", "step_series"}) {
      report.missing.push_back({part, "no profiler trace among the inputs", ""});
    }
    return;
  }
  report.cross = analyze::MeasureCrossRank(report.ranks);
  report.pop = analyze::MeasurePop(report.ranks, *report.cross);
  report.critical_path = analyze::FindCriticalPath(report.ranks, *report.cross);
  report.steps = analyze::MeasureSteps(report.ranks);
  NoteReasons("collectives", report.cross->reasons, report);
  NoteReasons("pop", report.pop.reasons, report);
  NoteReasons("critical_path", report.critical_path.reasons, report);
  NoteReasons("step_series", report.steps.reasons, report);
}

}  // namespace

base::Result<TraceReport> MeasureTraces(const MeasureOptions& options,
                                        const base::Context& context) {
  std::optional<MetricTarget> target;
  if (!options.target.empty()) {
    SS_TRY(target, ParseTarget(options.target));
  }
  SS_TRY(const trace::FoundFiles found, trace::ExpandPaths(options.paths));
  SS_TRY(const trace::CollectiveNames names, trace::CollectiveNames::Load());
  SS_TRY(const trace::HostLogPatterns patterns, HostPatterns());
  const ReadSettings settings{&names, &patterns, context.threads};
  TraceReport report;
  std::vector<FileTrace> traces;
  for (FileContents& contents : ReadFiles(found.files, settings)) {
    const size_t first_row = report.inputs.size();
    for (InputRow& row : contents.rows) report.inputs.push_back(std::move(row));
    Append(std::move(contents.records), report.records);
    for (FileTrace& file : contents.traces) {
      file.row += first_row;
      traces.push_back(std::move(file));
    }
  }
  for (const std::string& folder : found.unreadable) {
    InputRow row;
    row.name = folder;
    row.path = folder;
    row.note = "the folder can not be read";
    report.inputs.push_back(std::move(row));
  }
  AssembleRanks(std::move(traces), settings, report);
  for (const analyze::RankTrace& rank : report.ranks) report.import.Merge(rank.stats);
  AnalyzeRecords(report, target);
  CompareRanks(report);
  Summarise(report);
  report.footnotes = HtaNotes(report.ranks);
  NoteUnused(report);
  NoteRanks(report);
  const bool usable =
      std::any_of(report.inputs.begin(), report.inputs.end(), [](const InputRow& row) {
        return row.used &&
               (row.events > 0 || row.format != trace::InputFormat::kKineto) &&
               row.format != trace::InputFormat::kOpJob;
      });
  if (!usable) {
    const auto first =
        std::find_if(report.inputs.begin(), report.inputs.end(),
                     [](const InputRow& row) { return !row.note.empty(); });
    return base::Fail(
        "MEAS-0001", base::ExitCode::kInput,
        fmt::format("nothing usable in {} inputs; the first reason: {}",
                    report.inputs.size(),
                    first == report.inputs.end() ? "no event" : first->note),
        options.paths.front(),
        "give profiler traces, flight-recorder dumps or logs; "
        "docs/formats.md lists what is read");
  }
  return report;
}

}  // namespace stepslack::measure

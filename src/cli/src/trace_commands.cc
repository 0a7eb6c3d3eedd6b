#include "trace_commands.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "stepslack/analyze/run_compare.h"
#include "stepslack/analyze/trace_compare.h"
#include "stepslack/base/digest.h"
#include "stepslack/measure/measure_traces.h"
#include "stepslack/render/csv.h"
#include "stepslack/render/document.h"
#include "stepslack/render/run_compare_report.h"
#include "stepslack/render/section_json.h"
#include "stepslack/render/trace_compare_report.h"
#include "stepslack/render/trace_report.h"
#include "stepslack/store/room.h"

namespace stepslack::cli {
namespace {

using base::ExitCode;

// Refuses to write the result onto one of the files that were read.
base::Status KeepInputs(const measure::TraceReport& report, const std::string& output) {
  if (output == "-") return {};
  for (const measure::InputRow& row : report.inputs) {
    std::error_code ignored;
    if (!std::filesystem::equivalent(row.path, output, ignored)) continue;
    return base::Fail("CLI-0012", ExitCode::kUsage,
                      "the output is one of the inputs; nothing was written", output,
                      "give another file to -o");
  }
  return {};
}

base::Result<measure::TraceReport> Read(std::vector<std::string> paths,
                                        const Arguments& arguments,
                                        const base::Context& context) {
  measure::MeasureOptions options;
  options.paths = std::move(paths);
  options.target = arguments.Value("--target");
  SS_TRY(measure::TraceReport report, measure::MeasureTraces(options, context));
  SS_RETURN_IF_ERROR(KeepInputs(report, arguments.Value("--output")));
  return report;
}

// The one benchmark of a side; comparing minutes to different targets says nothing.
base::Status CheckSameBenchmark(const analyze::RunSetReport& before,
                                const analyze::RunSetReport& after) {
  const std::string& first = before.runs.front().benchmark;
  for (const auto* side : {&before, &after}) {
    for (const analyze::RunOutcome& run : side->runs) {
      if (run.benchmark == first) continue;
      return base::Fail("CLI-0231", ExitCode::kInput,
                        fmt::format("runs of `{}` and of `{}` have no common target",
                                    first, run.benchmark),
                        run.source, "give the logs of one benchmark on both sides");
    }
  }
  return {};
}

base::Result<CommandResult> CompareLogs(analyze::RunSetReport before,
                                        const analyze::RunSetReport& after,
                                        const std::string& format) {
  SS_RETURN_IF_ERROR(CheckSameBenchmark(before, after));
  SS_TRY(const analyze::RunComparison comparison,
         analyze::CompareRuns(before.runs, after.runs));
  if (format == "markdown") {
    return CommandResult{.output =
                             RenderMarkdown(render::RunCompareDocument(comparison))};
  }
  if (format == "text") {
    return CommandResult{.output = render::RenderRunCompareText(comparison)};
  }
  std::vector<analyze::RunOutcome> runs = std::move(before.runs);
  runs.insert(runs.end(), after.runs.begin(), after.runs.end());
  return CommandResult{
      .output = ToJson(analyze::GroupRuns(std::move(runs)), comparison).Dump() + "\n"};
}

}  // namespace

base::Result<CommandResult> ImportTraces(const Arguments& arguments,
                                         const base::Context& context) {
  const int64_t start_ns = base::NowNs();
  SS_TRY(const measure::TraceReport report,
         Read(arguments.lists.at("PATH"), arguments, context));
  const std::string json = WriteJson(report);
  SS_TRY(store::Room room, store::Room::Open(arguments.Value("--room")));
  SS_TRY(const std::string digest, room.PutBytes(json));
  store::StageOutput output;
  output.value.Set("inputs", static_cast<int64_t>(report.inputs.size()));
  output.value.Set("ranks", static_cast<int64_t>(report.ranks.size()));
  output.objects["measure.json"] = digest;
  const double seconds = static_cast<double>(base::NowNs() - start_ns) / 1e9;
  SS_RETURN_IF_ERROR(room.SaveStage("import", digest, output, seconds));
  if (arguments.Value("--format") == "json") return CommandResult{.output = json};
  return CommandResult{
      .output = render::RenderImportText(report) +
                fmt::format("kept in {}; `stepslack log` lists it\n", room.path())};
}

base::Result<CommandResult> Measure(const Arguments& arguments,
                                    const base::Context& context, bool color) {
  SS_TRY(const measure::TraceReport report,
         Read(arguments.lists.at("PATH"), arguments, context));
  const std::string format = arguments.Value("--format");
  const std::string by = arguments.Value("--by");
  if (format == "json" && by.empty()) return CommandResult{.output = WriteJson(report)};
  if (format == "json") {
    return CommandResult{.output =
                             ToJson(render::TraceTable(report, by)).Dump() + "\n"};
  }
  if (format == "csv") {
    return CommandResult{
        .output = RenderCsv(render::TraceTable(report, by.empty() ? "rank" : by))};
  }
  if (!by.empty() && format == "text") {
    return CommandResult{.output =
                             RenderTableText(render::TraceTable(report, by), color)};
  }
  if (format == "text") {
    return CommandResult{.output = render::RenderTraceText(report, color)};
  }
  render::Document document = render::TraceDocument(report);
  if (!by.empty()) {
    render::Section section;
    section.id = by;
    section.title = "By " + by;
    section.tables = {render::TraceTable(report, by)};
    document.sections = {std::move(section)};
  }
  return CommandResult{.output = format == "html" ? RenderHtml(document)
                                                  : RenderMarkdown(document)};
}

base::Result<CommandResult> Compare(const Arguments& arguments,
                                    const base::Context& context) {
  SS_TRY(const measure::TraceReport before,
         Read({arguments.Value("BEFORE")}, arguments, context));
  SS_TRY(const measure::TraceReport after,
         Read({arguments.Value("AFTER")}, arguments, context));
  if (before.ranks.empty() && after.ranks.empty() && before.run_sets &&
      after.run_sets) {
    return CompareLogs(*before.run_sets, *after.run_sets, arguments.Value("--format"));
  }
  for (const auto& [report, name] :
       {std::pair{&before, "BEFORE"}, std::pair{&after, "AFTER"}}) {
    if (!report->ranks.empty()) continue;
    return base::Fail(
        "CLI-0010", ExitCode::kInput,
        "neither profiler traces nor training logs to compare", arguments.Value(name),
        "give folders of the same kind; `stepslack measure` shows what is read");
  }
  const analyze::TraceComparison comparison =
      analyze::CompareTraces(before.ranks, after.ranks);
  const std::string format = arguments.Value("--format");
  if (format == "json") {
    return CommandResult{.output = analyze::ToJson(comparison).Dump() + "\n"};
  }
  return CommandResult{.output = format == "markdown"
                                     ? render::RenderCompareMarkdown(comparison)
                                     : render::RenderCompareText(comparison)};
}

base::Result<CommandResult> Show(const Arguments& arguments,
                                 const base::Context& context) {
  if (arguments.Value("--format") != "html") {
    return base::Fail("CLI-0204", ExitCode::kUsage, "a timeline is a page",
                      "stepslack show timeline --format " + arguments.Value("--format"),
                      "leave --format away; `stepslack measure` gives text and json");
  }
  SS_TRY(const measure::TraceReport report,
         Read(arguments.lists.at("PATH"), arguments, context));
  SS_TRY(std::string page, render::RenderTraceTimeline(report));
  return CommandResult{.output = std::move(page)};
}

base::Result<CommandResult> Export(const Arguments& arguments,
                                   const base::Context& context) {
  const std::string output = arguments.Value("--output");
  if (output == "-") {
    return base::Fail("CLI-0011", ExitCode::kUsage, "a merged trace needs a file",
                      "stepslack export", "add -o merged.json.gz");
  }
  SS_TRY(const measure::TraceReport report,
         Read(arguments.lists.at("PATH"), arguments, context));
  SS_TRY(const std::string summary, measure::ExportTraces(report, output));
  return CommandResult{.output = summary, .to_stdout = true};
}

}  // namespace stepslack::cli

#include "project_command.h"

#include <fmt/format.h>

#include "stepslack/analyze/projection.h"
#include "stepslack/analyze/run_files.h"
#include "stepslack/base/file.h"
#include "stepslack/base/text.h"
#include "stepslack/render/document.h"
#include "stepslack/render/run_sets_report.h"

namespace stepslack::cli {
namespace {

using base::ExitCode;

constexpr double kMostWorkers = 1e9;
constexpr size_t kMostSizes = 1000;
constexpr int kWorkersPerNode = 8;

base::Result<double> Positive(std::string_view text, const char* option) {
  const auto value = base::ParseDouble(base::Trim(text));
  if (value && *value > 0 && *value <= 1e15) return *value;
  return base::Fail("PROJ-0010", ExitCode::kUsage, "must be a positive number",
                    fmt::format("{} {}", option, text),
                    fmt::format("`stepslack project --help` shows {}", option));
}

base::Result<std::vector<double>> List(const std::string& text, const char* option) {
  std::vector<double> values;
  if (text.empty()) return values;
  for (const std::string_view part : base::Split(text, ',')) {
    SS_TRY(const double value, Positive(part, option));
    values.push_back(value);
  }
  return values;
}

base::Result<std::vector<int64_t>> WorldSizes(const std::string& text) {
  SS_TRY(const std::vector<double> values, List(text, "--to"));
  std::vector<int64_t> sizes;
  for (const double value : values) {
    const auto size = static_cast<int64_t>(value);
    if (value > kMostWorkers || static_cast<double>(size) != value) break;
    sizes.push_back(size);
  }
  if (sizes.empty() || sizes.size() != values.size() || sizes.size() > kMostSizes) {
    return base::Fail("PROJ-0011", ExitCode::kUsage,
                      "needs 1 to 1000 world sizes, whole numbers up to 1e9",
                      fmt::format("--to {}", text), "for example --to 1024,4096");
  }
  return sizes;
}

base::Result<analyze::ProjectOptions> Options(const Arguments& arguments) {
  analyze::ProjectOptions options;
  SS_TRY(options.world_sizes, WorldSizes(arguments.Value("--to")));
  SS_TRY(options.batches, List(arguments.Value("--batch"), "--batch"));
  if (options.batches.size() > 1 &&
      options.batches.size() != options.world_sizes.size()) {
    return base::Fail("PROJ-0012", ExitCode::kUsage,
                      "needs one global batch, or one for every world size",
                      fmt::format("--batch {}", arguments.Value("--batch")),
                      "for example --to 256,512 --batch 4096,8192");
  }
  SS_TRY(options.knee_bound, Positive(arguments.Value("--knee"), "--knee"));
  SS_TRY(options.checkpoint_seconds,
         Positive(arguments.Value("--checkpoint-s"), "--checkpoint-s"));
  SS_TRY(options.restart_seconds,
         Positive(arguments.Value("--restart-s"), "--restart-s"));
  const auto optional = [&](const char* name,
                            std::optional<double>& value) -> base::Status {
    if (!arguments.Has(name)) return {};
    SS_TRY(value, Positive(arguments.Value(name), name));
    return {};
  };
  SS_RETURN_IF_ERROR(optional("--mtbf-hours", options.mtbf_hours));
  SS_RETURN_IF_ERROR(optional("--watts", options.watts));
  SS_RETURN_IF_ERROR(optional("--price", options.price_hour));
  return options;
}

bool IsTable(const std::string& path) {
  return path.ends_with(".csv") || path.ends_with(".csv.gz");
}

}  // namespace

base::Result<CommandResult> ProjectScales(const Arguments& arguments) {
  SS_TRY(const analyze::ProjectOptions options, Options(arguments));
  std::vector<analyze::ScaleFamily> families;
  std::vector<std::string> left_out;
  std::vector<std::string> logs;
  for (const std::string& path : arguments.lists.at("PATH")) {
    if (!IsTable(path) || base::IsFolder(path)) {
      logs.push_back(path);
      continue;
    }
    SS_TRY(const std::string csv, base::ReadMaybeGzip(path));
    SS_TRY(auto read, analyze::FamiliesOfTable(csv, base::FileName(path),
                                               kWorkersPerNode, left_out));
    for (auto& family : read) families.push_back(std::move(family));
  }
  if (!logs.empty()) {
    SS_TRY(analyze::RunFiles files, analyze::ReadRunFiles(logs));
    for (const auto& skipped : files.skipped) {
      left_out.push_back(fmt::format("{}: {}", skipped.name, skipped.reason));
    }
    const analyze::RunSetReport sets = analyze::GroupRuns(std::move(files.runs));
    for (auto& family : analyze::FamiliesOf(sets, left_out)) {
      families.push_back(std::move(family));
    }
  }
  analyze::ProjectionReport report = analyze::Project(std::move(families), options);
  report.left_out = std::move(left_out);
  bool any = false;
  for (const auto& family : report.families) any |= !family.predictions.empty();
  const std::string format = arguments.Value("--format");
  return CommandResult{
      .output = format == "json" ? ToJson(report).Dump() + "\n"
                : format == "markdown"
                    ? render::RenderMarkdown(render::ProjectionDocument(report))
                : format == "html"
                    ? render::RenderHtml(render::ProjectionDocument(report))
                    : analyze::ProjectionText(report),
      .exit_code = any ? ExitCode::kOk : ExitCode::kFinding};
}

VerbInfo ProjectVerb() {
  return {
      "project",
      "measure",
      "step time, throughput and time to target at world sizes not measured",
      {"stepslack project results/ --to 1024,4096 --format json",
       "stepslack project iterations.csv --to 1024 --batch 2048"},
      {{"PATH",
        "",
        "",
        "training logs of several scales (files, folders, archives), or a CSV of "
        "measured iterations",
        {},
        true},
       {"--to", "N[,N...]", "", "world sizes to predict", {}},
       {"--batch",
        "B[,B...]",
        "",
        "global batch there; else one is assumed (and said), with a wider interval",
        {}},
       {"--knee", "SHARE", "0.5", "marginal efficiency that a doubling must keep", {}},
       {"--mtbf-hours", "H", "", "mean time between failures of one worker", {}},
       {"--checkpoint-s", "S", "60", "seconds to write a checkpoint", {}},
       {"--restart-s", "S", "300", "seconds to resume after a failure", {}},
       {"--watts", "W", "", "power of one worker: energy to the target", {}},
       {"--price", "P", "", "of one worker for an hour: cost to the target", {}}},
      {"text", "json", "markdown", "html"}};
}

}  // namespace stepslack::cli

#include "commands.h"

#include <fmt/format.h>

#include "bench_commands.h"
#include "companion.h"
#include "data_audit.h"
#include "data_choose.h"
#include "data_clean.h"
#include "data_diff.h"
#include "data_doomed.h"
#include "data_drift.h"
#include "data_ingest.h"
#include "data_make.h"
#include "data_show.h"
#include "data_solve.h"
#include "data_split.h"
#include "doctor.h"
#include "project_command.h"
#include "run_commands.h"
#include "stepslack/base/file.h"
#include "stepslack/base/text.h"
#include "stepslack/evidence/capsule.h"
#include "stepslack/review/review.h"
#include "stepslack/store/room.h"
#include "study_commands.h"
#include "trace_commands.h"
#include "train_commands.h"

namespace stepslack::cli {
namespace {

using base::ExitCode;
using base::JoinPath;

std::string Form(const review::ReviewOutcome& outcome, const std::string& format) {
  if (format == "json") return outcome.json;
  if (format == "markdown") return outcome.markdown;
  if (format == "html") return outcome.html;
  return outcome.text + fmt::format("room: {}\n", outcome.room);
}

base::Result<CommandResult> Review(const Arguments& arguments,
                                   const base::Context& context) {
  review::ReviewOptions options;
  options.config_file = arguments.Value("FILE");
  options.room = arguments.Value("--room");
  options.data_folder = arguments.Value("--data");
  options.worker = Companion("STEPSLACK_WORKER", "stepslack-worker");
  options.causes = Companion("STEPSLACK_CAUSES", "knowledge/causes.toml");
  if (arguments.Has("--ranks")) {
    const auto ranks = base::ParseInt(arguments.Value("--ranks"));
    if (!ranks || *ranks < 1 || *ranks > 1024) {
      return base::Fail("CLI-0006", ExitCode::kUsage,
                        "must be a whole number from 1 to 1024",
                        fmt::format("--ranks {}", arguments.Value("--ranks")),
                        "give the number of training processes, for example --ranks 2");
    }
    options.ranks = static_cast<int>(*ranks);
  }
  SS_TRY(const review::ReviewOutcome outcome, review::RunReview(options, context));
  return CommandResult{.output = Form(outcome, arguments.Value("--format")),
                       .exit_code = outcome.ship ? ExitCode::kOk : ExitCode::kFinding};
}

base::Result<CommandResult> Verify(const Arguments& arguments) {
  const std::string path = arguments.Value("FILE");
  SS_TRY(const auto verified, evidence::VerifyCapsule(path, base::ParentFolder(path)));
  return CommandResult{.output = fmt::format("intact: {} artifacts match {}\n",
                                             verified.artifacts.size(), path),
                       .exit_code = ExitCode::kOk};
}

base::Result<CommandResult> Log(const Arguments& arguments) {
  const std::string path = arguments.Value("--room");
  if (!base::PathExists(JoinPath(path, "stepslack.toml"))) {
    return base::Fail("CLI-0007", ExitCode::kUsage, "no room is there", path,
                      "give the folder of an earlier `stepslack review --room`");
  }
  SS_TRY(const store::Room room, store::Room::Open(path));
  SS_TRY(const auto stages, room.Stages());
  const bool as_json = arguments.Value("--format") == "json";
  base::Json rows{base::Json::Array{}};
  std::string text;
  for (const store::StageEntry& stage : stages) {
    base::Json row;
    row.Set("stage", stage.name);
    row.Set("key", stage.key);
    row.Set("created_utc", stage.created_utc);
    row.Set("seconds", stage.seconds);
    rows.Append(std::move(row));
    text += fmt::format("{}  {:<10} {:>10}  {}\n", stage.created_utc, stage.name,
                        base::HumanDuration(stage.seconds), stage.key.substr(0, 12));
  }
  base::Json json;
  json.Set("schema", "stepslack.log/1");
  json.Set("stages", std::move(rows));
  return CommandResult{.output = as_json ? json.Dump() + "\n" : text,
                       .exit_code = ExitCode::kOk};
}

}  // namespace

base::Result<CommandResult> RunCommand(const Arguments& arguments,
                                       const base::Context& context, bool color) {
  const std::string_view verb = arguments.verb->name;
  if (verb == "review") return Review(arguments, context);
  if (verb == "train") return Train(arguments, context);
  if (verb == "data audit") return DataAudit(arguments, context);
  if (verb == "data make") return DataMake(arguments, context);
  if (verb == "data drift") return DataDrift(arguments, context);
  if (verb == "data doomed") return DataDoomed(arguments, context);
  if (verb == "data choose") return DataChoose(arguments, context);
  if (verb == "data split") return DataSplit(arguments);
  if (verb == "data show") return DataShow(arguments, context);
  if (verb == "data clean") return DataClean(arguments);
  if (verb == "data ingest") return DataIngest(arguments);
  if (verb == "data diff") return DataDiff(arguments);
  if (verb == "data solve") return DataSolve(arguments, context);
  if (verb == "bench") return Bench(arguments, context);
  if (verb == "study") return Study(arguments, context);
  if (verb == "import") return ImportTraces(arguments, context);
  if (verb == "measure") return Measure(arguments, context, color);
  if (verb == "project") return ProjectScales(arguments);
  if (verb == "compare") return Compare(arguments, context);
  if (verb == "show" && arguments.Value("WHAT") == "run") {
    return ShowRun(arguments, color);
  }
  if (verb == "show") return Show(arguments, context);
  if (verb == "export") return Export(arguments, context);
  if (verb == "verify") return Verify(arguments);
  if (verb == "log") return Log(arguments);
  if (verb == "completion") return CommandResult{.output = BashCompletion()};
  SS_CHECK(verb == "doctor");
  const DoctorReport report =
      Examine(Companion("STEPSLACK_WORKER", "stepslack-worker"),
              Companion("STEPSLACK_CAUSES", "knowledge/causes.toml"));
  const bool as_json = arguments.Value("--format") == "json";
  return CommandResult{
      .output = as_json ? ToJson(report).Dump() + "\n" : Describe(report, color),
      .exit_code = report.Healthy() ? ExitCode::kOk : ExitCode::kFinding};
}

}  // namespace stepslack::cli

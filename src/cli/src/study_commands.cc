#include "study_commands.h"

#include <fmt/format.h>

#include <filesystem>

#include "companion.h"
#include "stepslack/base/file.h"
#include "stepslack/base/text.h"
#include "stepslack/render/study_report.h"
#include "stepslack/store/room.h"
#include "stepslack/study/study_run.h"

namespace stepslack::cli {
namespace {

using base::ExitCode;
using base::JoinPath;

constexpr int64_t kMostJobs = 1024;

base::Result<study::TrialPlace> PlaceOf(const study::StudyFile& study,
                                        const store::Room& room) {
  study::TrialPlace place;
  place.trials =
      JoinPath(std::filesystem::absolute(room.path()).lexically_normal().string(),
               ".stepslack/trials");
  if (!study.command.empty()) return place;
  SS_TRY(place.launcher,
         study::FindLauncher(Companion("STEPSLACK_WORKER", "stepslack-worker"),
                             room.RunsFolder()));
  return place;
}

// What would be run, without a room and without running anything.
CommandResult Plan(const study::StudyFile& study, bool as_json) {
  const auto trials = study::PlanTrials(study);
  if (as_json) {
    base::Json list = base::Json::Array();
    for (const study::Trial& trial : trials) {
      base::Json item;
      item.Set("id", study::TrialId(study, trial)).Set("arm", trial.arm);
      item.Set("ranks", trial.ranks).Set("seed", trial.seed);
      item.Set("command", study::CommandOf(study, trial, {}));
      list.Append(std::move(item));
    }
    base::Json json;
    json.Set("schema", "stepslack.study_plan/1").Set("trials", std::move(list));
    json.Set("more_follow", study.kind == study::StudyKind::kSweep);
    return {.output = json.Dump() + "\n", .exit_code = ExitCode::kOk};
  }
  std::string text = fmt::format("{}: {} trials{}\n", study.title, trials.size(),
                                 study.kind == study::StudyKind::kSweep
                                     ? " to begin with; more follow from their results"
                                     : "");
  if (study.check_reproducibility) text += "first: the same seed twice\n";
  for (const study::Trial& trial : trials) {
    text += fmt::format(
        "{}  {:<16} ranks {} seed {}  {}\n", study::TrialId(study, trial), trial.arm,
        trial.ranks, trial.seed,
        study.command.empty() ? study.train : study::CommandOf(study, trial, {}));
  }
  return {.output = std::move(text), .exit_code = ExitCode::kOk};
}

std::string Form(const study::StudyReport& report, const std::string& format) {
  if (format == "json") return study::ToJson(report).Dump() + "\n";
  if (format == "csv") return study::TrialsCsv(report);
  if (format == "markdown") {
    return render::RenderMarkdown(render::StudyDocument(report));
  }
  if (format == "html") return render::RenderHtml(render::StudyDocument(report));
  return render::RenderStudyText(report);
}

}  // namespace

base::Result<CommandResult> Study(const Arguments& arguments,
                                  const base::Context& context) {
  const auto jobs = base::ParseInt(arguments.Value("--jobs"));
  if (!jobs || *jobs < 1 || *jobs > kMostJobs) {
    return base::Fail("CLI-0240", ExitCode::kUsage,
                      fmt::format("must be a whole number from 1 to {}", kMostJobs),
                      fmt::format("--jobs {}", arguments.Value("--jobs")),
                      "for example --jobs 2");
  }
  SS_TRY(const study::StudyFile study, study::ReadStudyFile(arguments.Value("FILE")));
  const std::string format = arguments.Value("--format");
  if (arguments.Has("--dry-run")) return Plan(study, format == "json");
  SS_TRY(store::Room room, store::Room::Open(arguments.Value("--room")));
  SS_TRY(const study::TrialPlace place, PlaceOf(study, room));
  const study::StudyOptions options{.jobs = static_cast<int>(*jobs),
                                    .retry_failed = arguments.Has("--retry-failed")};
  SS_TRY(const study::StudyReport report,
         study::RunStudy(study, place, room, options, context));
  const std::string folder =
      JoinPath(room.path(), fmt::format(".stepslack/studies/{}", report.id));
  SS_RETURN_IF_ERROR(base::MakeFolders(folder));
  SS_RETURN_IF_ERROR(base::WriteFileAtomic(JoinPath(folder, "report.json"),
                                           study::ToJson(report).Dump() + "\n"));
  SS_RETURN_IF_ERROR(
      base::WriteFileAtomic(JoinPath(folder, "trials.csv"), study::TrialsCsv(report)));
  return CommandResult{
      .output = Form(report, format),
      .exit_code = report.HasFinding() ? ExitCode::kFinding : ExitCode::kOk};
}

}  // namespace stepslack::cli

#include "stepslack/study/trial_runner.h"

#include <fmt/format.h>
#include <signal.h>

#include <filesystem>

#include "command_template.h"
#include "stepslack/base/file.h"
#include "stepslack/study/train_job.h"
#include "trial_outcome.h"
#include "trial_process.h"

namespace stepslack::study {
namespace {

using base::ExitCode;
using base::JoinPath;

std::string Absolute(const std::string& path) {
  std::error_code error;
  const auto full = std::filesystem::absolute(path, error);
  return error ? path : full.lexically_normal().string();
}

Settings AllValues(const StudyFile& study, const Trial& trial) {
  Settings values = study.values;
  for (const auto& [key, value] : trial.values) values[key] = value;
  return values;
}

Settings CommandValues(const StudyFile& study, const Trial& trial,
                       const TrialPlace& place) {
  const std::string folder = JoinPath(place.trials, TrialId(study, trial));
  Settings values = AllValues(study, trial);
  values["ranks"] = trial.ranks;
  values["seed"] = trial.seed;
  if (trial.batch > 0) values["batch"] = trial.batch;
  values["out"] = JoinPath(folder, "out");
  values["log"] = JoinPath(folder, "log.txt");
  values["previous"] = trial.previous.empty()
                           ? std::string()
                           : JoinPath(JoinPath(place.trials, trial.previous), "out");
  return values;
}

std::string SignalText(int exit_code) {
  if (exit_code <= 128 || exit_code > 128 + SIGRTMAX) return "";
  return fmt::format(" (signal {})", exit_code - 128);
}

void ReadEnd(const CommandEnd& end, const StudyFile& study, TrialResult& result) {
  result.wall_seconds = end.wall_seconds;
  result.exit_code = end.exit_code;
  switch (end.how) {
    case CommandEnd::How::kTimeout:
      result.status = TrialStatus::kTimeout;
      result.reason = fmt::format("not done after {:.0f} s", study.timeout_seconds);
      return;
    case CommandEnd::How::kLost:
      result.status = TrialStatus::kLost;
      result.reason =
          "the job left the queue without a result: ended by the scheduler?";
      return;
    case CommandEnd::How::kExited:
      break;
  }
  result.status = end.exit_code == 0 ? TrialStatus::kDone : TrialStatus::kFailed;
  if (end.exit_code != 0) {
    result.reason =
        fmt::format("exit code {}{}; see {}", end.exit_code, SignalText(end.exit_code),
                    JoinPath(result.folder, "log.txt"));
  }
}

base::Result<TrialResult> RunCommandTrial(const StudyFile& study, const Trial& trial,
                                          const TrialPlace& place,
                                          const base::Context& context) {
  TrialResult result;
  result.id = TrialId(study, trial);
  result.trial = trial;
  result.folder = JoinPath(place.trials, result.id);
  SS_RETURN_IF_ERROR(base::MakeFolders(JoinPath(result.folder, "out")));
  const TrialCommand command{.folder = result.folder,
                             .start_in = Absolute(base::ParentFolder(study.file)),
                             .command = CommandOf(study, trial, place),
                             .ranks = trial.ranks,
                             .timeout_seconds = study.timeout_seconds};
  SS_TRY(const CommandEnd end, study.slurm
                                   ? RunInSlurm(command, study.slurm_settings, context)
                                   : RunLocally(command, context));
  result.cached = end.found;
  ReadEnd(end, study, result);
  if (result.status != TrialStatus::kDone) return result;
  const std::string log =
      study.objective.log.empty()
          ? JoinPath(result.folder, "log.txt")
          : FillIn(study.objective.log, CommandValues(study, trial, place));
  ReadTrialLog(log.front() == '/' ? log : JoinPath(command.start_in, log),
               study.objective, result);
  return result;
}

base::Result<TrialResult> RunTrainTrial(const StudyFile& study, const Trial& trial,
                                        const TrialPlace& place, store::Room& room,
                                        const base::Context& context) {
  TrialResult result;
  result.id = TrialId(study, trial);
  result.trial = trial;
  Settings overrides = AllValues(study, trial);
  overrides["train.seed"] = trial.seed;
  overrides["ranks"] = trial.ranks;
  if (trial.batch > 0) overrides["train.global_batch"] = trial.batch;
  if (study.objective.target && study.objective.metric == "relative_mae") {
    overrides["train.target_relative_mae"] = *study.objective.target;
  }
  SS_TRY(TrainJob job, ReadTrainJob(study.train, overrides));
  SS_TRY(const PreparedData data, PrepareTrainData(job, room, context));
  const RunRequest request{.label = trial.arm,
                           .plan = job.plan,
                           .world_size = job.ranks,
                           .repeat = trial.repeat};
  result.folder = JoinPath(place.launcher.runs_folder, RunId(place.launcher, request));
  result.cached = IsFinished(place.launcher, request);
  const auto run = Execute(place.launcher, request, context, [](int64_t, double) {});
  if (!run) {
    if (run.error().exit_code == ExitCode::kInterrupted) {
      return tl::unexpected(run.error());
    }
    result.status = TrialStatus::kFailed;
    result.reason = fmt::format("{}: {}", run.error().id, run.error().what);
    result.exit_code = static_cast<int>(run.error().exit_code);
    return result;
  }
  result.status = TrialStatus::kDone;
  result.wall_seconds = run->summary.startup_seconds + run->summary.train_seconds;
  ReadRunRecord(*run, study.objective, result);
  return result;
}

}  // namespace

std::string CommandOf(const StudyFile& study, const Trial& trial,
                      const TrialPlace& place) {
  return FillIn(study.command, CommandValues(study, trial, place));
}

base::Result<TrialResult> RunTrial(const StudyFile& study, const Trial& trial,
                                   const TrialPlace& place, store::Room& room,
                                   const base::Context& context) {
  return study.command.empty() ? RunTrainTrial(study, trial, place, room, context)
                               : RunCommandTrial(study, trial, place, context);
}

}  // namespace stepslack::study

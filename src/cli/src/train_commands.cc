#include "train_commands.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "companion.h"
#include "stepslack/base/file.h"
#include "stepslack/base/text.h"
#include "stepslack/record/run_status.h"
#include "stepslack/store/room.h"
#include "stepslack/study/launcher.h"
#include "stepslack/study/rank_run.h"
#include "stepslack/study/train_job.h"

namespace stepslack::cli {
namespace {

using base::ExitCode;

constexpr int64_t kLargestRankCount = 1024;

// The whole number that an option gives; nothing when it is absent.
base::Result<std::optional<int64_t>> WholeNumber(const Arguments& arguments,
                                                 std::string_view option, int64_t low,
                                                 int64_t high) {
  if (!arguments.Has(option)) return std::optional<int64_t>();
  const auto value = base::ParseInt(arguments.Value(option));
  if (!value || *value < low || *value > high) {
    return base::Fail("CLI-0230", ExitCode::kUsage,
                      fmt::format("must be a whole number from {} to {}", low, high),
                      fmt::format("{} {}", option, arguments.Value(option)),
                      fmt::format("for example {} 2", option));
  }
  return std::optional<int64_t>(*value);
}

base::Result<study::TrainJob> ReadJob(const Arguments& arguments) {
  SS_TRY(study::TrainJob job, study::ReadTrainJob(arguments.Value("FILE")));
  SS_TRY(const auto ranks, WholeNumber(arguments, "--ranks", 1, kLargestRankCount));
  if (ranks) job.ranks = static_cast<int>(*ranks);
  SS_TRY(const auto seed, WholeNumber(arguments, "--seed", 0, INT64_MAX));
  if (seed) job.plan.seed = static_cast<uint64_t>(*seed);
  if (arguments.Has("--backend")) job.plan.backend = arguments.Value("--backend");
  if (arguments.Has("--no-comm")) job.plan.synchronise = false;
  return job;
}

// The first repetition that has not finished yet: a run that is asked for again.
int FirstUnfinished(const study::Launcher& launcher, study::RunRequest request) {
  while (study::IsFinished(launcher, request)) ++request.repeat;
  return request.repeat;
}

base::Json RunJson(const study::TrainJob& job, const study::PreparedData& data,
                   const std::string& id, const record::RunRecord& run) {
  base::Json json;
  json.Set("schema", "stepslack.train/1");
  json.Set("title", job.title);
  json.Set("run", id);
  json.Set("folder", run.folder);
  json.Set("samples", data.samples);
  json.Set("groups", data.groups);
  json.Set("notes",
           base::Json(base::Json::Array(data.notes.begin(), data.notes.end())));
  json.Set("summary", record::ToJson(run.summary));
  return json;
}

std::string RunText(const study::TrainJob& job, const study::PreparedData& data,
                    const std::string& id, const record::RunRecord& run) {
  const record::RunSummary& summary = run.summary;
  std::string text = fmt::format(
      "{}\n{} training, {} validation, {} test samples of {} groups\n", job.title,
      job.plan.train_indices.size(), job.plan.validation_indices.size(),
      job.plan.test_indices.size(), data.groups);
  for (const std::string& note : data.notes) text += fmt::format("note: {}\n", note);
  text += fmt::format("{} steps, {} samples on {} ranks in {}: {:.1f} samples/s\n",
                      summary.steps, summary.samples, summary.world_size,
                      base::HumanDuration(summary.train_seconds),
                      summary.train_seconds > 0
                          ? static_cast<double>(summary.samples) / summary.train_seconds
                          : 0.0);
  if (!run.evals.empty()) {
    text += fmt::format("validation relative MAE {}\n",
                        base::Human(run.evals.back().relative_mae));
  }
  text += fmt::format("record: {}\n{}\n", run.folder, id);
  return text;
}

// A job with its data in the room, ready to run.
struct Prepared {
  study::TrainJob job;
  study::PreparedData data;
  study::Launcher launcher;
  study::RunRequest request;
  std::string id;
};

base::Result<Prepared> Prepare(study::TrainJob job, const Arguments& arguments,
                               store::Room& room, const base::Context& context) {
  Prepared prepared;
  SS_TRY(prepared.launcher,
         study::FindLauncher(Companion("STEPSLACK_WORKER", "stepslack-worker"),
                             room.RunsFolder()));
  context.progress->Stage(1, 2, "data");
  SS_TRY(prepared.data, study::PrepareTrainData(job, room, context));
  context.progress->EndStage(fmt::format("{} samples", prepared.data.samples));
  prepared.request = {
      .label = job.title, .plan = job.plan, .world_size = job.ranks, .repeat = 0};
  if (arguments.Has("--again")) {
    prepared.request.repeat = FirstUnfinished(prepared.launcher, prepared.request);
  }
  prepared.id = study::RunId(prepared.launcher, prepared.request);
  prepared.job = std::move(job);
  return prepared;
}

// The status that rank 0 keeps, and the latest validation metric.
study::RunProgress ProgressOf(const base::Context& context, std::string folder,
                              int64_t total) {
  return [&context, folder = std::move(folder), total](int64_t samples,
                                                       double relative_mae) {
    const auto status = record::ReadRunStatus(folder);
    std::string text = status ? record::ProgressLine(*status)
                              : fmt::format("{} of {} samples", samples, total);
    if (std::isfinite(relative_mae)) {
      text += fmt::format(" | validation relative MAE {}", base::Human(relative_mae));
    }
    // The line of the status has its own estimate of the time that is left.
    const double part = static_cast<double>(samples) / static_cast<double>(total);
    context.progress->Update(text, status ? -1.0 : part);
  };
}

std::string FolderOf(const Prepared& prepared) {
  return base::JoinPath(prepared.launcher.runs_folder, prepared.id);
}

CommandResult Show(const Prepared& prepared, const record::RunRecord& run,
                   const std::string& format) {
  return {.output =
              format == "json"
                  ? RunJson(prepared.job, prepared.data, prepared.id, run).Dump() + "\n"
                  : RunText(prepared.job, prepared.data, prepared.id, run),
          .exit_code = ExitCode::kOk};
}

// Rank 0 of an outer launcher's job: prepares, announces, runs its rank, seals.
base::Result<record::RunRecord> LeadRanks(const Prepared& prepared,
                                          const std::string& room,
                                          const record::RankEnvironment& environment,
                                          const base::Context& context) {
  const std::string folder = FolderOf(prepared);
  const study::RunAnnouncement announcement(room, environment);
  if (!study::IsFinished(prepared.launcher, prepared.request)) {
    SS_RETURN_IF_ERROR(study::PrepareRun(prepared.launcher, prepared.request, context));
    SS_RETURN_IF_ERROR(announcement.Say(folder));
    context.progress->Stage(2, 2, "train");
    SS_RETURN_IF_ERROR(study::ExecuteRank(
        prepared.launcher, folder, prepared.request.label, environment, context,
        ProgressOf(context, folder, prepared.job.plan.samples)));
    return study::FinishRun(folder);
  }
  announcement.SayFinished();
  return record::ReadRun(folder);
}

base::Result<CommandResult> TrainAsLeader(const study::TrainJob& job,
                                          const Arguments& arguments,
                                          const record::RankEnvironment& environment,
                                          const base::Context& context) {
  const std::string path = arguments.Value("--room");
  const auto lead = [&]() -> base::Result<CommandResult> {
    SS_TRY(store::Room room, store::Room::Open(path));
    SS_TRY(const Prepared prepared, Prepare(job, arguments, room, context));
    SS_TRY(const auto run, LeadRanks(prepared, path, environment, context));
    return Show(prepared, run, arguments.Value("--format"));
  };
  auto result = lead();
  if (!result) {
    study::RunAnnouncement(path, environment).SayFailed(result.error());
  }
  return result;
}

base::Result<CommandResult> TrainAsFollower(const study::TrainJob& job,
                                            const Arguments& arguments,
                                            const record::RankEnvironment& environment,
                                            const base::Context& context) {
  SS_TRY(const std::string folder,
         study::AwaitAnnouncement(arguments.Value("--room"), environment, context));
  if (folder.empty()) return CommandResult{};  // the run had finished before
  SS_TRY(const auto launcher,
         study::FindLauncher(Companion("STEPSLACK_WORKER", "stepslack-worker"),
                             base::ParentFolder(folder)));
  SS_RETURN_IF_ERROR(study::ExecuteRank(launcher, folder, job.title, environment,
                                        context, [](int64_t, double) {}));
  return CommandResult{};
}

base::Result<CommandResult> TrainHere(const study::TrainJob& job,
                                      const Arguments& arguments,
                                      const base::Context& context) {
  SS_TRY(store::Room room, store::Room::Open(arguments.Value("--room")));
  SS_TRY(const Prepared prepared, Prepare(job, arguments, room, context));
  context.progress->Stage(2, 2, "train");
  SS_TRY(const record::RunRecord run,
         study::Execute(prepared.launcher, prepared.request, context,
                        ProgressOf(context, FolderOf(prepared), job.plan.samples)));
  context.progress->EndStage(base::HumanDuration(run.summary.train_seconds));
  return Show(prepared, run, arguments.Value("--format"));
}

}  // namespace

base::Result<CommandResult> Train(const Arguments& arguments,
                                  const base::Context& context) {
  SS_TRY(const record::RankEnvironment environment, record::ReadRankEnvironment());
  SS_TRY(study::TrainJob job, ReadJob(arguments));
  if (environment.world_size == 1) return TrainHere(job, arguments, context);
  if (arguments.Has("--ranks") && job.ranks != environment.world_size) {
    return base::Fail("CLI-0232", ExitCode::kUsage,
                      fmt::format("{} has started {} ranks", environment.launcher,
                                  environment.world_size),
                      fmt::format("--ranks {}", job.ranks),
                      "leave --ranks out: the launcher says how many there are");
  }
  job.ranks = environment.world_size;
  return environment.rank == 0 ? TrainAsLeader(job, arguments, environment, context)
                               : TrainAsFollower(job, arguments, environment, context);
}

}  // namespace stepslack::cli

#include "train_commands.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "companion.h"
#include "stepslack/base/file.h"
#include "stepslack/base/text.h"
#include "stepslack/store/room.h"
#include "stepslack/study/launcher.h"
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

}  // namespace

base::Result<CommandResult> Train(const Arguments& arguments,
                                  const base::Context& context) {
  SS_TRY(study::TrainJob job, ReadJob(arguments));
  SS_TRY(store::Room room, store::Room::Open(arguments.Value("--room")));
  SS_TRY(const auto launcher,
         study::FindLauncher(Companion("STEPSLACK_WORKER", "stepslack-worker"),
                             room.RunsFolder()));
  context.progress->Stage(1, 2, "data");
  SS_TRY(const study::PreparedData data, study::PrepareTrainData(job, room, context));
  context.progress->EndStage(fmt::format("{} samples", data.samples));
  study::RunRequest request{
      .label = job.title, .plan = job.plan, .world_size = job.ranks, .repeat = 0};
  if (arguments.Has("--again")) request.repeat = FirstUnfinished(launcher, request);
  const auto draw = [&](int64_t samples, double relative_mae) {
    std::string text = fmt::format("{} of {} samples", samples, job.plan.samples);
    if (std::isfinite(relative_mae)) {
      text += fmt::format(", validation relative MAE {}", base::Human(relative_mae));
    }
    context.progress->Update(
        text, static_cast<double>(samples) / static_cast<double>(job.plan.samples));
  };
  context.progress->Stage(2, 2, "train");
  SS_TRY(const record::RunRecord run, study::Execute(launcher, request, context, draw));
  context.progress->EndStage(base::HumanDuration(run.summary.train_seconds));
  const std::string id = study::RunId(launcher, request);
  const bool as_json = arguments.Value("--format") == "json";
  return CommandResult{.output = as_json ? RunJson(job, data, id, run).Dump() + "\n"
                                         : RunText(job, data, id, run),
                       .exit_code = ExitCode::kOk};
}

}  // namespace stepslack::cli

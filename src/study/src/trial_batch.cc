#include "trial_batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "stepslack/base/digest.h"
#include "stepslack/base/file.h"
#include "stepslack/base/parallel.h"
#include "stepslack/base/text.h"
#include "trial_files.h"

namespace stepslack::study {
namespace {

constexpr std::string_view kStage = "study-trial";

std::string ValuesText(const Settings& values) {
  std::string text;
  for (const auto& [key, value] : values) {
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", key, value.Dump(-1));
  }
  return text;
}

}  // namespace

TrialBatch::TrialBatch(const StudyFile& study, const TrialPlace& place,
                       store::Room& room, const StudyOptions& options,
                       const base::Context& context)
    : study_(study), place_(place), room_(room), options_(options), context_(context) {}

// What the trial is, and how its log is read.
std::string TrialBatch::KeyOf(const Trial& trial) const {
  const StudyObjective& objective = study_.objective;
  base::Json key;
  key.Set("trial", TrialId(study_, trial)).Set("metric", objective.metric);
  key.Set("maximise", objective.maximise).Set("last", objective.last);
  key.Set("log", objective.log).Set("pattern", objective.pattern);
  if (objective.target) key.Set("target", *objective.target);
  return base::Sha256Of(key.Dump(-1));
}

void TrialBatch::Draw(const TrialResult& result) {
  ++ended_;
  if (!result.cached) executed_seconds_ += result.wall_seconds;
  const bool maximise = study_.objective.maximise;
  if (result.objective &&
      (!best_ || (maximise ? *result.objective > *best_->objective
                           : *result.objective < *best_->objective))) {
    best_ = result;
  }
  std::string text =
      fmt::format("{} of {} trials", ended_, std::max(ended_, expected_));
  if (best_) {
    text += fmt::format(" | best {} {} ({}{}{})", study_.objective.metric,
                        base::Human(*best_->objective), best_->trial.arm,
                        best_->trial.values.empty() ? "" : ": ",
                        ValuesText(best_->trial.values));
  }
  const int64_t left = expected_ - ended_;
  if (executed_ > 0 && left > 0) {
    text += fmt::format(
        " | about {} left",
        base::HumanDuration(executed_seconds_ / static_cast<double>(executed_) *
                            static_cast<double>(left) / options_.jobs));
  }
  context_.progress->Update(text, -1);
}

base::Result<TrialResult> TrialBatch::RunOne(const Trial& trial) {
  const std::string key = KeyOf(trial);
  {
    const std::lock_guard lock(mutex_);
    SS_TRY(const auto known, room_.FindStage(kStage, key));
    auto result = known ? ParseTrialResult(known->value) : std::nullopt;
    const bool again =
        options_.retry_failed && result && result->status != TrialStatus::kDone;
    if (result && !again) {
      result->trial = trial;  // names and purposes are those of this study
      result->cached = true;
      Draw(*result);
      return *result;
    }
    if (again) RemoveTraces(result->folder);
  }
  base::Progress quiet(base::Progress::Mode::kQuiet);
  base::Context context = context_;
  context.progress = &quiet;
  SS_TRY(TrialResult result, RunTrial(study_, trial, place_, room_, context));
  const std::lock_guard lock(mutex_);
  SS_RETURN_IF_ERROR(room_.SaveStage(
      kStage, key, {.value = ToJson(result), .objects = {}}, result.wall_seconds));
  if (!result.cached) ++executed_;
  Draw(result);
  if (result.status != TrialStatus::kDone) {
    context_.progress->Say(fmt::format("{} (seed {}): {}: {}", trial.arm, trial.seed,
                                       ToString(result.status), result.reason));
  }
  return result;
}

base::Result<std::vector<TrialResult>> TrialBatch::Run(
    const std::vector<Trial>& trials) {
  std::vector<TrialResult> results(trials.size());
  std::optional<base::Error> error;
  std::atomic<bool> stop = false;
  // Our own trainer uses the room and all cores itself.
  const int jobs = study_.command.empty() ? 1 : options_.jobs;
  base::ParallelFor(trials.size(), jobs, [&](size_t i) {
    if (stop.load()) return;
    auto result = RunOne(trials[i]);
    if (result) {
      results[i] = std::move(*result);
      return;
    }
    stop = true;
    const std::lock_guard lock(mutex_);
    if (!error) error = result.error();
  });
  if (error) return tl::unexpected(*error);
  return results;
}

}  // namespace stepslack::study

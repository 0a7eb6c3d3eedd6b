#include "stepslack/study/study_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "stepslack/base/digest.h"
#include "stepslack/study/search.h"
#include "study_checks.h"
#include "study_summary.h"
#include "trial_batch.h"

namespace stepslack::study {
namespace {

constexpr double kNoScore = std::numeric_limits<double>::quiet_NaN();

std::string StudyId(const StudyFile& study) {
  base::Json identity;
  identity.Set("title", study.title).Set("kind", ToString(study.kind));
  identity.Set("metric", study.objective.metric);
  for (const Trial& trial : PlanTrials(study)) {
    identity.Set(TrialId(study, trial), trial.arm);
  }
  return base::Sha256Of(identity.Dump(-1)).substr(0, 16);
}

// The trials of a search step, one for every seed; {previous} is the output of the same
// configuration and seed one rung below.
std::vector<Trial> TrialsOf(const StudyFile& study, const SearchStep& step,
                            const std::vector<std::vector<Trial>>& before,
                            const std::vector<SearchStep>& steps) {
  std::vector<Trial> trials;
  for (size_t s = 0; s < study.seeds.size(); ++s) {
    Trial trial{.arm = fmt::format("trial {}", step.config + 1),
                .purpose = "search",
                .values = step.values,
                .ranks = study.arms.front().ranks,
                .seed = study.seeds[s]};
    for (size_t i = 0; i < steps.size() && i < before.size(); ++i) {
      if (steps[i].config == step.config && steps[i].rung == step.rung - 1) {
        trial.previous = TrialId(study, before[i][s]);
      }
    }
    trials.push_back(std::move(trial));
  }
  return trials;
}

// Mean over seeds; NaN when a seed has none, so that a configuration that sometimes
// fails does not win.
double ScoreOf(const TrialResult* results, size_t seeds) {
  double sum = 0;
  for (size_t i = 0; i < seeds; ++i) {
    if (!results[i].objective) return kNoScore;
    sum += *results[i].objective;
  }
  return sum / static_cast<double>(seeds);
}

base::Result<std::vector<ScoredStep>> RunSearch(const StudyFile& study,
                                                TrialBatch& batch,
                                                std::vector<TrialResult>& all) {
  Search search(study.search, study.objective.maximise);
  std::vector<ScoredStep> scored;
  std::vector<SearchStep> steps;
  std::vector<std::vector<Trial>> trials;
  std::vector<double> scores;
  for (;;) {
    const std::vector<SearchStep> next = search.Next(scores);
    if (next.empty()) return scored;
    std::vector<Trial> wanted;
    for (const SearchStep& step : next) {
      trials.push_back(TrialsOf(study, step, trials, steps));
      steps.push_back(step);
      wanted.insert(wanted.end(), trials.back().begin(), trials.back().end());
    }
    SS_TRY(const auto results, batch.Run(wanted));
    const size_t seeds = study.seeds.size();
    for (size_t i = 0; i < next.size(); ++i) {
      const TrialResult* of_step = results.data() + i * seeds;
      scores.push_back(ScoreOf(of_step, seeds));
      scored.push_back({next[i], {of_step, of_step + seeds}, scores.back()});
    }
    all.insert(all.end(), results.begin(), results.end());
  }
}

// The winner and the baseline with seeds that nothing was chosen by.
base::Status RunFreshSeeds(const StudyFile& study, const Settings& best,
                           TrialBatch& batch, std::vector<TrialResult>& winners,
                           std::vector<TrialResult>& baselines) {
  uint64_t seed = *std::ranges::max_element(study.seeds);
  std::vector<Trial> wanted;
  StudyArm winner = study.arms.front();
  winner.name = "best";
  winner.values = best;
  StudyArm baseline = study.arms.front();
  if (!study.search.resource.empty()) {
    // Both train for the full length, or the comparison would be of lengths.
    winner.values[study.search.resource] = study.search.most_resource;
    baseline.values[study.search.resource] = study.search.most_resource;
  }
  for (int i = 0; i < study.search.fresh_seeds; ++i) {
    ++seed;
    const bool first = i % 2 == 0;
    for (const StudyArm* arm :
         {first ? &winner : &baseline, first ? &baseline : &winner}) {
      wanted.push_back(TrialOf(study, *arm, seed));
      wanted.back().purpose = "fresh seed";
    }
  }
  SS_TRY(const auto results, batch.Run(wanted));
  for (const TrialResult& result : results) {
    (result.trial.arm == winner.name ? winners : baselines).push_back(result);
  }
  return {};
}

base::Status RunSweep(const StudyFile& study, TrialBatch& batch, StudyReport& report) {
  SS_TRY(const auto scored, RunSearch(study, batch, report.trials));
  const ScoredStep* best = BestStep(study, scored);
  std::vector<TrialResult> winners, baselines;
  if (best != nullptr && study.search.fresh_seeds > 0) {
    SS_RETURN_IF_ERROR(
        RunFreshSeeds(study, best->step.values, batch, winners, baselines));
  }
  report.search = SummariseSearch(study, scored, best, winners, baselines);
  report.trials.insert(report.trials.end(), winners.begin(), winners.end());
  report.trials.insert(report.trials.end(), baselines.begin(), baselines.end());
  return {};
}

}  // namespace

std::string_view ToString(CheckVerdict verdict) {
  switch (verdict) {
    case CheckVerdict::kPassed:
      return "passed";
    case CheckVerdict::kFinding:
      return "finding";
    case CheckVerdict::kNotRun:
      return "not run";
  }
  return "not run";
}

bool StudyReport::HasFinding() const {
  const bool finding = std::ranges::any_of(checks, [](const StudyCheck& check) {
    return check.verdict == CheckVerdict::kFinding;
  });
  const bool nothing = std::ranges::none_of(trials, [](const TrialResult& trial) {
    return trial.status == TrialStatus::kDone;
  });
  return refused || finding || nothing;
}

std::vector<Trial> PlanTrials(const StudyFile& study) {
  std::vector<Trial> trials;
  if (study.kind == StudyKind::kSweep) {
    Search search(study.search, study.objective.maximise);
    for (const SearchStep& step : search.Next({})) {
      for (Trial& trial : TrialsOf(study, step, {}, {})) trials.push_back(trial);
    }
    return trials;
  }
  for (size_t s = 0; s < study.seeds.size(); ++s) {
    const size_t first = trials.size();
    for (const StudyArm& arm : study.arms) {
      trials.push_back(TrialOf(study, arm, study.seeds[s]));
    }
    if (s % 2 == 1) {
      std::reverse(trials.begin() + static_cast<std::ptrdiff_t>(first), trials.end());
    }
  }
  return trials;
}

base::Result<StudyReport> RunStudy(const StudyFile& study, const TrialPlace& place,
                                   store::Room& room, const StudyOptions& options,
                                   const base::Context& context) {
  StudyReport report{.study = study, .id = StudyId(study)};
  TrialBatch batch(study, place, room, options, context);
  const std::vector<Trial> planned = PlanTrials(study);
  const int checks = study.check_reproducibility ? 2 : 0;
  batch.Expect(static_cast<int64_t>(planned.size()) + checks +
               (study.kind == StudyKind::kSweep ? 2 * study.search.fresh_seeds : 0));
  context.progress->Stage(1, 1, study.title);
  SS_TRY(report.checks, CheckBaseline(study, batch, report.trials));
  const bool distrusted = std::ranges::any_of(report.checks, [](const auto& check) {
    return check.verdict == CheckVerdict::kFinding;
  });
  report.refused = distrusted && study.kind == StudyKind::kSweep;
  if (study.kind != StudyKind::kSweep) {
    SS_TRY(auto results, batch.Run(planned));
    report.arms = SummariseArms(study, results);
    report.trials.insert(report.trials.begin(), results.begin(), results.end());
  } else if (!report.refused) {
    SS_RETURN_IF_ERROR(RunSweep(study, batch, report));
  }
  report.executed = batch.executed();
  report.verdict = VerdictOf(report);
  context.progress->EndStage(
      fmt::format("{} trials, {} run now", report.trials.size(), report.executed));
  return report;
}

}  // namespace stepslack::study

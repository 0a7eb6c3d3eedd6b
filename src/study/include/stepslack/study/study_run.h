// Runs a study: checks that its baseline can be trusted, runs the planned trials in an
// order that lets slow drift of the machine cancel, and says what came of it. Trials
// that the room has are not run again, so a study that was killed goes on where it was.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "stepslack/analyze/effects.h"
#include "stepslack/base/context.h"
#include "stepslack/base/estimate.h"
#include "stepslack/base/json.h"
#include "stepslack/base/result.h"
#include "stepslack/store/room.h"
#include "stepslack/study/study_file.h"
#include "stepslack/study/trial.h"
#include "stepslack/study/trial_runner.h"

namespace stepslack::study {

struct StudyOptions {
  int jobs = 1;  // command trials at a time; never changes what is run or decided
  bool retry_failed = false;  // run trials again that did not end well
};

enum class CheckVerdict { kPassed, kFinding, kNotRun };
std::string_view ToString(CheckVerdict verdict);  // "passed", "finding", "not run"

struct StudyCheck {
  std::string id;  // "reproducibility", "baseline"
  CheckVerdict verdict = CheckVerdict::kNotRun;
  std::string text;  // with numbers; of the reproducibility check: where runs part
};

// The runs of one arm. Efficiencies only of a scaling study, against its fewest
// workers, paired by seed: E = T1 N1 / (TN N) with T the time to the target (without a
// target, and strong: to the end), Eh the throughput per worker over that of the
// baseline, Es = S1 / SN samples to the target.
struct ArmSummary {
  StudyArm arm;
  int64_t runs = 0;
  int64_t done = 0;
  base::Estimate objective;          // mean over seeds
  base::Estimate seconds_to_target;  // geometric mean of the runs that reached it
  base::Estimate success_share;      // reached / runs, with a target
  base::Estimate wall_seconds;
  base::Estimate samples_per_second;
  std::optional<analyze::Effect> effect;  // against the first arm, paired by seed
  base::Estimate efficiency, hardware, statistical;
};

// The hyperparameter tracker. The best of k tries looks better than it is: what it
// gives on fresh seeds, and how much was luck.
struct SearchSummary {
  analyze::TrialTable table;
  int64_t configurations = 0;
  std::string best;  // "trial 7"
  Settings values;
  double best_score = 0;                  // in the search
  base::Estimate fresh;                   // the same configuration on fresh seeds
  base::Estimate baseline;                // the baseline on the same seeds
  std::optional<double> optimism;         // how much better the search made it look
  std::optional<analyze::Effect> effect;  // best against baseline, fresh seeds
};

struct StudyReport {
  StudyFile study;
  std::string id;  // 16 digits, of the study file's meaning
  std::vector<StudyCheck> checks;
  bool refused = false;             // no search on a baseline that can not be trusted
  std::vector<TrialResult> trials;  // in the order of their issue
  std::vector<ArmSummary> arms;
  std::optional<SearchSummary> search;
  std::string verdict;   // one sentence
  int64_t executed = 0;  // trials run now; the others were known

  bool HasFinding() const;  // refused, a check's finding, or no arm with a done run
};

// Trials that are known before anything ran, arms interleaved: A B B A over the seeds.
// Of a sweep: the first batch.
std::vector<Trial> PlanTrials(const StudyFile& study);

// Errors of RunTrial only: a trial that fails is part of the report.
base::Result<StudyReport> RunStudy(const StudyFile& study, const TrialPlace& place,
                                   store::Room& room, const StudyOptions& options,
                                   const base::Context& context);

base::Json ToJson(const StudyReport& report);  // "stepslack.study/1"
std::string TrialsCsv(const StudyReport& report);

}  // namespace stepslack::study

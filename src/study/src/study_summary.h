// From the results of trials to what a study says.
#pragma once

#include <string>
#include <vector>

#include "stepslack/study/search.h"
#include "stepslack/study/study_run.h"

namespace stepslack::study {

struct ScoredStep {
  SearchStep step;
  std::vector<TrialResult> results;  // one a seed
  double score = 0;                  // NaN: a seed has no result
};

std::vector<ArmSummary> SummariseArms(const StudyFile& study,
                                      const std::vector<TrialResult>& results);

// The best score among the steps that trained longest; null when none has a score.
const ScoredStep* BestStep(const StudyFile& study,
                           const std::vector<ScoredStep>& steps);

SearchSummary SummariseSearch(const StudyFile& study,
                              const std::vector<ScoredStep>& steps,
                              const ScoredStep* best,
                              const std::vector<TrialResult>& winners,
                              const std::vector<TrialResult>& baselines);

std::string VerdictOf(const StudyReport& report);

}  // namespace stepslack::study

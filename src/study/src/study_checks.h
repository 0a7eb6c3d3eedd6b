// Is the baseline worth comparing with: the same seed twice, and the value it is known
// for.
#pragma once

#include <vector>

#include "stepslack/study/study_run.h"
#include "trial_batch.h"

namespace stepslack::study {

// Runs the first arm with the first seed twice (the first of them is a planned trial
// anyway). The trials are appended to `trials`.
base::Result<std::vector<StudyCheck>> CheckBaseline(const StudyFile& study,
                                                    TrialBatch& batch,
                                                    std::vector<TrialResult>& trials);

// "loss at step 12: 0.31 and 0.29", or "" when the logs agree as far as both go.
std::string FirstDifference(const StudyFile& study, const TrialResult& a,
                            const TrialResult& b);

// The trial of an arm with a seed.
Trial TrialOf(const StudyFile& study, const StudyArm& arm, uint64_t seed);

}  // namespace stepslack::study

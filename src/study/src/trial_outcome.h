// What the log of a trial says about the study's objective.
#pragma once

#include <string>

#include "stepslack/logs/series_set.h"
#include "stepslack/record/run_record.h"
#include "stepslack/study/study_file.h"
#include "stepslack/study/trial.h"

namespace stepslack::study {

// Fill objective, steps, seconds and samples to the target, digest and throughput; the
// status becomes kNoMetric, with the reason, when the metric is not there.
void ReadSeries(const logs::SeriesSet& set, const StudyObjective& objective,
                TrialResult& result);
void ReadMatches(const std::string& text, const StudyObjective& objective,
                 TrialResult& result);
void ReadRunRecord(const record::RunRecord& run, const StudyObjective& objective,
                   TrialResult& result);

// The log at `path`, by the objective's pattern or by what it is.
void ReadTrialLog(const std::string& path, const StudyObjective& objective,
                  TrialResult& result);

}  // namespace stepslack::study

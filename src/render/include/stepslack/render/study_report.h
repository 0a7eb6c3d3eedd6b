// What a study found: checks, arms or the hyperparameter tracker, trials.
#pragma once

#include <string>

#include "stepslack/render/document.h"
#include "stepslack/study/study_run.h"

namespace stepslack::render {

Document StudyDocument(const study::StudyReport& report);
// For a terminal, at most 100 columns.
std::string RenderStudyText(const study::StudyReport& report);

}  // namespace stepslack::render

// Runs single trials: a command of the user's, here or in a queue, or our own trainer.
#pragma once

#include <string>

#include "stepslack/base/context.h"
#include "stepslack/base/result.h"
#include "stepslack/store/room.h"
#include "stepslack/study/launcher.h"
#include "stepslack/study/study_file.h"
#include "stepslack/study/trial.h"

namespace stepslack::study {

struct TrialPlace {
  std::string trials;  // absolute folder of all trials, in the room
  Launcher launcher;   // of studies that train
};

// Runs the trial, or finds its end, or waits for the end of one that runs already. A
// trial that fails is a result; errors are only of the study itself: STUDY-0201..4
// (command), STUDY-0005 interrupted, CONF-* (a value that run.toml refuses). Several
// threads may run different trials of a command.
base::Result<TrialResult> RunTrial(const StudyFile& study, const Trial& trial,
                                   const TrialPlace& place, store::Room& room,
                                   const base::Context& context);

// What a command trial is made of, filled in; for --dry-run and the record.
std::string CommandOf(const StudyFile& study, const Trial& trial,
                      const TrialPlace& place);

}  // namespace stepslack::study

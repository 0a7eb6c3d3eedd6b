// Runs the command of a trial so that neither a killed study nor a killed machine
// leaves doubt about what has run: the command's shell notes its start and its end in
// the trial's folder by itself, and a lock that it inherits says that it still runs.
//   command.sh  what runs           log.txt  what it printed
//   pid         its process group   exit     "code start end", seconds since 1970,
//   out/        for its own files            written last and whole
#pragma once

#include <string>

#include "stepslack/base/context.h"
#include "stepslack/base/result.h"
#include "stepslack/study/study_file.h"

namespace stepslack::study {

struct CommandEnd {
  enum class How { kExited, kTimeout, kLost };
  How how = How::kExited;
  int exit_code = 0;  // 128 + signal for a signal, as shells have it
  double wall_seconds = 0;
  bool found = false;  // it had ended before this call
};

struct TrialCommand {
  std::string folder;    // exists; absolute
  std::string start_in;  // working folder of the command
  std::string command;   // filled in
  int ranks = 1;
  double timeout_seconds = 0;
};

// The end that an earlier call saw or missed, or that of the command that it now runs
// (or finds running) and waits for. STUDY-0201 the folder can not be used (exit 4),
// STUDY-0202 interrupted (exit 130): a local command is ended then, a job in a queue is
// left.
base::Result<CommandEnd> RunLocally(const TrialCommand& command,
                                    const base::Context& context);

// The same through sbatch, squeue and scancel. The job's name holds the folder's, so
// that a job whose number was not noted is found again. STUDY-0203: sbatch refused.
base::Result<CommandEnd> RunInSlurm(const TrialCommand& command,
                                    const StudySlurm& settings,
                                    const base::Context& context);

}  // namespace stepslack::study

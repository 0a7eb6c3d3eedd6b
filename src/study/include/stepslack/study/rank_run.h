// A run whose ranks somebody else has started: mpirun, srun, torchrun. Every process
// becomes one rank; rank 0 prepares the run and tells the others where it lies, through
// a file in the room, which all of them must see.
#pragma once

#include <string>

#include "stepslack/base/context.h"
#include "stepslack/record/rank_environment.h"
#include "stepslack/record/run_record.h"
#include "stepslack/study/launcher.h"

namespace stepslack::study {

// What rank 0 tells; removed when this goes out of scope.
class RunAnnouncement {
 public:
  // `room` is the room's folder.
  RunAnnouncement(const std::string& room, const record::RankEnvironment& environment);
  ~RunAnnouncement();
  RunAnnouncement(const RunAnnouncement&) = delete;
  RunAnnouncement& operator=(const RunAnnouncement&) = delete;

  base::Status Say(const std::string& run_folder) const;
  // That the run was in the room already: nobody has to run anything.
  void SayFinished() const;
  // That rank 0 could not prepare the run, so that nobody waits for it.
  void SayFailed(const base::Error& error) const;

 private:
  std::string path_;
};

// The folder that rank 0 names, "" when the run had finished before. STUDY-0030: it did
// not in an hour; STUDY-0031: it could not prepare the run; STUDY-0032: interrupted.
base::Result<std::string> AwaitAnnouncement(const std::string& room,
                                            const record::RankEnvironment& environment,
                                            const base::Context& context);

// Makes the run's folder with its plan; rank 0 calls this before it announces.
base::Status PrepareRun(const Launcher& launcher, const RunRequest& request,
                        const base::Context& context);

// Runs this process's rank in the prepared folder. STUDY-0002, STUDY-0003, STUDY-0005.
base::Status ExecuteRank(const Launcher& launcher, const std::string& folder,
                         const std::string& label,
                         const record::RankEnvironment& environment,
                         const base::Context& context, const RunProgress& progress);

// Reads and seals the finished run; rank 0 calls this after its rank has ended.
base::Result<record::RunRecord> FinishRun(const std::string& folder);

}  // namespace stepslack::study

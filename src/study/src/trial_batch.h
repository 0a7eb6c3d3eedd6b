// Runs trials, several at a time, through what the room knows already.
#pragma once

#include <chrono>
#include <mutex>
#include <string>
#include <vector>

#include "stepslack/study/study_run.h"

namespace stepslack::study {

class TrialBatch {
 public:
  // All referenced objects must outlive this one.
  TrialBatch(const StudyFile& study, const TrialPlace& place, store::Room& room,
             const StudyOptions& options, const base::Context& context);

  // Results in the order of `trials`, whatever order they ended in.
  base::Result<std::vector<TrialResult>> Run(const std::vector<Trial>& trials);

  // Trials that are sure to come, for the time that is left.
  void Expect(int64_t trials) { expected_ = trials; }
  int64_t executed() const { return executed_; }

 private:
  std::string KeyOf(const Trial& trial) const;
  base::Result<TrialResult> RunOne(const Trial& trial);
  void Draw(const TrialResult& result);

  const StudyFile& study_;
  const TrialPlace& place_;
  store::Room& room_;
  const StudyOptions& options_;
  const base::Context& context_;
  std::mutex mutex_;  // of the room, the progress line and what follows
  int64_t executed_ = 0;
  int64_t ended_ = 0;
  int64_t expected_ = 0;
  double executed_seconds_ = 0;
  std::optional<TrialResult> best_;
};

}  // namespace stepslack::study

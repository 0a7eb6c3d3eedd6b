// Writes checkpoints behind the back of the training thread: the state is copied, then
// encoded, written, synced and renamed by another thread while training goes on.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <thread>

#include "checkpoint.h"
#include "stepslack/base/result.h"
#include "stepslack/model/state_file.h"

namespace stepslack::train {

struct CheckpointWriterOptions {
  std::string run_folder;
  int keep = 2;              // newest checkpoints that stay
  bool asynchronous = true;  // false: Save returns when the file is durable
};

// Seconds of the training thread.
struct CheckpointCost {
  int64_t saves = 0;
  double copy_seconds = 0;
  double wait_seconds = 0;  // for the save before, or for the file when not async
  // Of the other thread: by the clock, and on the core that both may share; it runs at
  // low priority, so that the first may exceed the second many times.
  double write_seconds = 0;
  double write_cpu_seconds = 0;
};

class CheckpointWriter {
 public:
  explicit CheckpointWriter(CheckpointWriterOptions options);
  ~CheckpointWriter();  // lets a write in flight end
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  // Waits until the save before has ended, copies `arrays`, and writes the copy:
  // callers may change them at once. Older checkpoints are deleted only when the new
  // one is durable. Errors, also those of the save before: BASE-0002, MODEL-0005,
  // TRAIN-0062 no memory.
  base::Status Save(int64_t step, std::string text, std::span<const NamedArray> arrays);

  // The error of a save that has ended, without waiting.
  base::Status Poll();
  // Waits for the save in flight, so that what was saved last is durable.
  base::Status Finish();

  // Of the newest save that is known to be on disk; -1: none.
  int64_t durable_step() const { return durable_step_; }
  const CheckpointCost& cost() const { return cost_; }

 private:
  void Write(int64_t step);
  void Copy(std::string text, std::span<const NamedArray> arrays);

  CheckpointWriterOptions options_;
  model::StateFile staged_;  // kept, so that its memory is touched once
  CheckpointCost cost_;
  int64_t saving_step_ = -1;
  int64_t durable_step_ = -1;
  // Written by the other thread, read after it has ended.
  base::Status status_;
  double write_seconds_ = 0;
  double write_cpu_seconds_ = 0;
  std::atomic<bool> ended_{true};
  std::jthread thread_;
};

}  // namespace stepslack::train

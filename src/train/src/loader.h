// Prepares the batches of one rank ahead of the training thread. The bytes do not
// depend on the number of threads: what a sample becomes follows from the seed, the
// epoch and its index alone.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

#include "sample_batch.h"
#include "sample_source.h"
#include "sampler.h"
#include "stepslack/base/result.h"

namespace stepslack::train {

struct LoaderOptions {
  int threads = 1;   // 0: Next prepares the batch itself
  int prefetch = 2;  // batches ready or in preparation, besides the one in use
  int rank = 0;
  int world_size = 1;
  int transforms = 1;  // versions of a sample to choose from
  size_t parts = 1;    // of each batch, see SampleBatch
  int64_t done = 0;    // samples consumed before the first batch
};

struct LoadedBatch {
  GlobalBatch global;          // of all ranks; empty: training is over
  std::vector<int64_t> share;  // the samples of this rank
  SampleBatch batch;           // the same, encoded
};

// How the queue looked from the training thread.
struct LoaderStats {
  int threads = 0;  // that could be started
  int64_t batches = 0;
  int64_t waits = 0;       // batches that were not ready when they were wanted
  int64_t wait_ns = 0;     // in Next, all batches
  int64_t longest_ns = 0;  // the longest of them
  int64_t ready = 0;       // batches found ready, summed over calls of Next
};

class Loader {
 public:
  // `source` must outlive the loader. Threads run on the cores of the creating thread
  // and inherit its handling of denormal numbers.
  Loader(const SampleSource& source, Sampler sampler, const LoaderOptions& options);
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  // The next batch in order; valid until the next call. The first error ends the
  // sequence: each later call returns it again. Errors: those of SampleSource::Encode,
  // TRAIN-0055 out of memory.
  base::Result<const LoadedBatch*> Next();

  const LoaderStats& stats() const { return stats_; }

 private:
  struct Slot {
    LoadedBatch loaded;
    base::Status status;
    bool ready = false;
  };
  void Run(const std::stop_token& stop);
  // Claims the next batch in order; null when there is none to prepare. Needs mutex_.
  Slot* Claim();
  base::Status Prepare(LoadedBatch& loaded) const;
  void Finish(Slot& slot, base::Status status);
  Slot& SlotOf(int64_t ticket) {
    return slots_[static_cast<size_t>(ticket) % slots_.size()];
  }

  const SampleSource& source_;
  const LoaderOptions options_;
  Sampler sampler_;  // transforms are read by all threads; the order needs mutex_
  std::mutex mutex_;
  std::condition_variable_any space_;  // a slot became free
  std::condition_variable_any ready_;  // a batch became ready
  std::vector<Slot> slots_;            // ticket t lies in slot t % size
  int64_t claimed_ = 0;                // tickets given to threads
  int64_t taken_ = 0;                  // tickets given to the training thread
  int64_t done_;                       // samples in the claimed batches and before
  bool ended_ = false;
  LoaderStats stats_;
  std::vector<std::jthread> threads_;  // last: they end before the rest goes
};

}  // namespace stepslack::train

// Which samples form which global batch, and which rank takes which of them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace stepslack::train {

struct GlobalBatch {
  int64_t epoch = 0;
  std::vector<int64_t> indices;  // empty: training is over
};

// Every epoch is a fresh seeded permutation of the training samples, cut into global
// batches; the last one of an epoch is short. The order knows nothing of ranks, so any
// world size sees the same global batches, and each sample once an epoch.
class Sampler {
 public:
  // All counts positive.
  Sampler(std::vector<int64_t> train_indices, int64_t global_batch,
          int64_t total_samples, uint64_t seed);

  // The batch that begins after `done` samples; `done` alone is the whole cursor.
  GlobalBatch BatchAfter(int64_t done);

  // Transform of a sample in an epoch, in [0, count): independent of rank and batch.
  int Transform(int64_t epoch, int64_t index, int count) const;

 private:
  void Shuffle(int64_t epoch);
  std::vector<int64_t> sorted_;
  std::vector<int64_t> order_;
  int64_t order_epoch_ = -1;
  int64_t global_batch_;
  int64_t total_samples_;
  uint64_t seed_;
};

// Positions rank, rank + world_size, ... of a list: shares differ by one at most.
std::vector<int64_t> RankShare(std::span<const int64_t> indices, int rank,
                               int world_size);

}  // namespace stepslack::train

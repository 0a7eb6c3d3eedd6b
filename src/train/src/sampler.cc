#include "sampler.h"

#include <algorithm>
#include <utility>

#include "stepslack/base/random.h"

namespace stepslack::train {

Sampler::Sampler(std::vector<int64_t> train_indices, int64_t global_batch,
                 int64_t total_samples, uint64_t seed)
    : sorted_(std::move(train_indices)),
      global_batch_(global_batch),
      total_samples_(total_samples),
      seed_(seed) {
  // The order of the list in the plan must not matter.
  std::sort(sorted_.begin(), sorted_.end());
}

void Sampler::Shuffle(int64_t epoch) {
  if (epoch == order_epoch_) return;
  order_ = sorted_;
  base::Random random(base::DeriveSeed(seed_, "epoch", static_cast<uint64_t>(epoch)));
  random.Shuffle(std::span(order_));
  order_epoch_ = epoch;
}

GlobalBatch Sampler::BatchAfter(int64_t done) {
  GlobalBatch batch;
  const auto count = static_cast<int64_t>(sorted_.size());
  batch.epoch = done / count;
  if (done >= total_samples_) return batch;
  Shuffle(batch.epoch);
  const int64_t position = done % count;
  const int64_t size =
      std::min({global_batch_, count - position, total_samples_ - done});
  const auto first = order_.begin() + position;
  batch.indices.assign(first, first + size);
  return batch;
}

int Sampler::Transform(int64_t epoch, int64_t index, int count) const {
  const uint64_t epoch_seed =
      base::DeriveSeed(seed_, "augmentation", static_cast<uint64_t>(epoch));
  base::Random random(
      base::DeriveSeed(epoch_seed, "sample", static_cast<uint64_t>(index)));
  return static_cast<int>(random.Below(static_cast<uint64_t>(count)));
}

std::vector<int64_t> RankShare(std::span<const int64_t> indices, int rank,
                               int world_size) {
  std::vector<int64_t> share;
  for (auto at = static_cast<size_t>(rank); at < indices.size();
       at += static_cast<size_t>(world_size)) {
    share.push_back(indices[at]);
  }
  return share;
}

}  // namespace stepslack::train

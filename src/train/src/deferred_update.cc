#include "deferred_update.h"

#include <algorithm>
#include <utility>

#include "stepslack/base/context.h"

namespace stepslack::train {

void DeferredUpdate::Start(double learning_rate) {
  learning_rate_ = learning_rate;
  left_ = reducer_.bucket_count();
  updated_.assign(left_, false);
  optimizer_.BeginStep();
}

base::Status DeferredUpdate::NeedBucket(size_t bucket) {
  if (updated_[bucket]) return {};
  const int64_t start_ns = base::NowNs();
  SS_RETURN_IF_ERROR(reducer_.FinishBucket(bucket));
  const int64_t here_ns = base::NowNs();
  // Of a bucket the parameters are neighbours.
  const std::vector<size_t>& own = reducer_.bucket(bucket).parameters;
  if (!own.empty()) {
    const auto [first, last] = std::minmax_element(own.begin(), own.end());
    const std::span<float> values = network_.values();
    optimizer_.Update(
        {values, network_.gradients().first(values.size()), learning_rate_, 1.0},
        *first, *last + 1);
  }
  updated_[bucket] = true;
  if (--left_ == 0) reducer_.FinishNorm();
  cost_.wait_ns += here_ns - start_ns;
  cost_.update_ns += base::NowNs() - here_ns;
  return {};
}

base::Status DeferredUpdate::NeedBlock(size_t block) {
  if (left_ == 0) return {};
  const model::BlockInfo& info = network_.blocks()[block];
  // The first parameters lie in the last bucket.
  for (size_t bucket = updated_.size(); bucket > 0; --bucket) {
    const std::vector<size_t>& own = reducer_.bucket(bucket - 1).parameters;
    const bool needed = std::any_of(own.begin(), own.end(), [&](size_t parameter) {
      return parameter >= info.first_parameter && parameter < info.parameter_end;
    });
    if (needed) SS_RETURN_IF_ERROR(NeedBucket(bucket - 1));
  }
  return {};
}

base::Status DeferredUpdate::NeedAll() {
  if (left_ == 0) return {};
  for (size_t bucket = updated_.size(); bucket > 0; --bucket) {
    SS_RETURN_IF_ERROR(NeedBucket(bucket - 1));
  }
  return {};
}

DeferredUpdate::Cost DeferredUpdate::TakeCost() { return std::exchange(cost_, {}); }

}  // namespace stepslack::train

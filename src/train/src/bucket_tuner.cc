#include "bucket_tuner.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

namespace stepslack::train {

BucketTuner::BucketTuner(std::vector<int64_t> candidates)
    : candidates_(std::move(candidates)),
      shortest_ns_(candidates_.size(), std::numeric_limits<int64_t>::max()) {}

bool BucketTuner::Record(int64_t wait_ns) {
  if (turn_ >= candidates_.size()) {
    int64_t& shortest = shortest_ns_[turn_ % candidates_.size()];
    shortest = std::min(shortest, wait_ns);
  }
  ++turn_;
  return !active();
}

base::Result<BucketTuner::Choice> BucketTuner::Agree(
    comm::Communicator& communicator) const {
  // A maximum by way of a sum: every rank fills its own row.
  const size_t count = candidates_.size();
  const auto ranks = static_cast<size_t>(communicator.world_size());
  std::vector<double> waits(count * ranks);
  const size_t own = static_cast<size_t>(communicator.rank()) * count;
  for (size_t i = 0; i < count; ++i) {
    waits[own + i] = static_cast<double>(shortest_ns_[i]);
  }
  SS_RETURN_IF_ERROR(communicator.AllReduceSum(std::span(waits)));
  std::vector<double> longest(count);
  for (size_t i = 0; i < waits.size(); ++i) {
    longest[i % count] = std::max(longest[i % count], waits[i]);
  }
  const auto best = std::min_element(longest.begin(), longest.end());
  Choice choice{candidates_[static_cast<size_t>(best - longest.begin())], ""};
  for (size_t i = 0; i < count; ++i) {
    choice.waits_ms += fmt::format("{}{}: {:.3f}", i == 0 ? "" : ", ", candidates_[i],
                                   longest[i] * 1e-6);
  }
  return choice;
}

}  // namespace stepslack::train

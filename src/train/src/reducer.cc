#include "reducer.h"

namespace stepslack::train {

std::vector<Bucket> PlanBuckets(std::span<const model::ParameterInfo> parameters,
                                int64_t buffer_floats, int64_t first_bucket_bytes,
                                int64_t bucket_bytes) {
  constexpr int64_t kFloat = static_cast<int64_t>(sizeof(float));
  std::vector<Bucket> buckets;
  Bucket open{buffer_floats, buffer_floats, {}};
  for (size_t left = parameters.size(); left > 0; --left) {
    const model::ParameterInfo& info = parameters[left - 1];
    const int64_t limit = buckets.empty() ? first_bucket_bytes : bucket_bytes;
    const bool full = (open.end - info.offset) * kFloat > limit;
    if (full && !open.parameters.empty()) {
      buckets.push_back(std::move(open));
      open = Bucket{buckets.back().begin, buckets.back().begin, {}};
    }
    open.begin = info.offset;
    open.parameters.push_back(left - 1);
  }
  if (open.end > open.begin) buckets.push_back(std::move(open));
  return buckets;
}

Reducer::Reducer(const ReducerOptions& options,
                 std::span<const model::ParameterInfo> parameters,
                 std::span<float> gradients, comm::Communicator& communicator)
    : options_(options),
      buckets_(PlanBuckets(parameters, static_cast<int64_t>(gradients.size()),
                           options.first_bucket_bytes, options.bucket_bytes)),
      bucket_of_(parameters.size()),
      gradients_(gradients),
      communicator_(communicator) {
  for (size_t bucket = 0; bucket < buckets_.size(); ++bucket) {
    for (size_t parameter : buckets_[bucket].parameters) bucket_of_[parameter] = bucket;
  }
}

bool Reducer::exchanging() const {
  return options_.exchange && communicator_.world_size() > 1;
}

void Reducer::Begin() {
  accumulating_ = false;
  launched_.clear();
  pending_.clear();
  for (const Bucket& bucket : buckets_) pending_.push_back(bucket.parameters.size());
}

void Reducer::Ready(size_t parameter) {
  --pending_[bucket_of_[parameter]];
  if (!exchanging() || !options_.overlap || accumulating_) return;
  size_t complete = launched_.size();
  while (complete < buckets_.size() && pending_[complete] == 0) ++complete;
  LaunchUpTo(complete);
}

void Reducer::LaunchUpTo(size_t count) {
  while (launched_.size() < count) {
    const Bucket& bucket = buckets_[launched_.size()];
    launched_.push_back(communicator_.AllReduceSumAsync(
        gradients_.subspan(static_cast<size_t>(bucket.begin),
                           static_cast<size_t>(bucket.end - bucket.begin))));
  }
}

base::Status Reducer::Finish() {
  if (!exchanging()) return {};
  LaunchUpTo(buckets_.size());
  for (comm::Work& work : launched_) SS_RETURN_IF_ERROR(work.Wait());
  return {};
}

int64_t Reducer::bytes_per_step() const {
  if (!exchanging()) return 0;
  return static_cast<int64_t>(gradients_.size_bytes());
}

}  // namespace stepslack::train

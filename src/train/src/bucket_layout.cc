#include "bucket_layout.h"

#include <algorithm>
#include <utility>

namespace stepslack::train {
namespace {

constexpr int64_t kFloat = static_cast<int64_t>(sizeof(float));

// Parameters from the front of the buffer that fit the last bucket; one at least.
size_t CountOfLast(std::span<const model::ParameterInfo> parameters, int64_t limit) {
  size_t count = parameters.empty() ? 0 : 1;
  while (count < parameters.size() &&
         (parameters[count].offset + parameters[count].count) * kFloat <= limit) {
    ++count;
  }
  return count;
}

}  // namespace

std::vector<Bucket> PlanBuckets(std::span<const model::ParameterInfo> parameters,
                                int64_t buffer_floats, const BucketLimits& limits) {
  const size_t last = CountOfLast(parameters, limits.last_bytes);
  std::vector<Bucket> buckets;
  Bucket open{buffer_floats, buffer_floats, {}};
  for (size_t left = parameters.size(); left > 0; --left) {
    const model::ParameterInfo& info = parameters[left - 1];
    const int64_t limit = buckets.empty() ? limits.first_bytes : limits.bytes;
    const bool full = (open.end - info.offset) * kFloat > limit || left == last;
    if (full && !open.parameters.empty()) {
      buckets.push_back(std::move(open));
      open = Bucket{buckets.back().begin, buckets.back().begin, {}};
    }
    open.begin = info.offset;
    open.parameters.push_back(left - 1);
    if (left <= last) {  // the rest is the last bucket
      while (--left > 0) open.parameters.push_back(left - 1);
      open.begin = 0;
      break;
    }
  }
  if (open.end > open.begin) buckets.push_back(std::move(open));
  return buckets;
}

std::vector<Bucket> PlanBucketsByBlock(std::span<const model::ParameterInfo> parameters,
                                       int64_t buffer_floats,
                                       const BucketLimits& limits,
                                       std::span<const size_t> block_starts) {
  std::vector<Bucket> buckets;
  Bucket open{buffer_floats, buffer_floats, {}};
  for (size_t left = parameters.size(); left > 0; --left) {
    const model::ParameterInfo& info = parameters[left - 1];
    const int64_t limit = buckets.empty() ? limits.first_bytes : limits.bytes;
    const bool full = (open.end - info.offset) * kFloat > limit;
    const bool other_block =
        std::find(block_starts.begin(), block_starts.end(), left) != block_starts.end();
    if ((full || other_block) && !open.parameters.empty()) {
      buckets.push_back(std::move(open));
      open = Bucket{buckets.back().begin, buckets.back().begin, {}};
    }
    open.begin = info.offset;
    open.parameters.push_back(left - 1);
  }
  if (!open.parameters.empty()) open.begin = 0;
  if (open.end > open.begin) buckets.push_back(std::move(open));
  return buckets;
}

}  // namespace stepslack::train

#include "hash_ladder.h"

#include <utility>

#include "stepslack/base/content_hash.h"

namespace stepslack::train {
namespace {

template <typename T>
std::string HashOf(std::span<const T> values) {
  return base::Xxh3_128Of(
      {reinterpret_cast<const char*>(values.data()), values.size_bytes()});
}

}  // namespace

void HashLadder::Samples(std::span<const int64_t> indices) {
  samples_ = HashOf(indices);
}

void HashLadder::Parameters(std::span<const float> values) {
  parameters_ = HashOf(values);
}

void HashLadder::LocalGradient(std::span<const float> gradient) {
  local_gradient_ = HashOf(gradient);
}

void HashLadder::ReducedGradient(std::span<const float> gradient) {
  reduced_gradient_ = HashOf(gradient);
}

void HashLadder::MoveTo(record::StepRecord& record) {
  record.sample_hash = std::exchange(samples_, {});
  record.parameter_hash = std::exchange(parameters_, {});
  record.local_gradient_hash = std::exchange(local_gradient_, {});
  record.reduced_gradient_hash = std::exchange(reduced_gradient_, {});
}

}  // namespace stepslack::train

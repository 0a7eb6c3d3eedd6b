#include "stepslack/model/parameter_layout.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "stepslack/base/random.h"
#include "stepslack/base/result.h"

namespace stepslack::model {
namespace {

constexpr int64_t kAlignmentFloats = 16;

}  // namespace

size_t ParameterLayout::AddKernel(std::string name, int64_t out, int64_t in,
                                  int64_t size, double gain) {
  return AddWeights(std::move(name), {out, in, size, size}, in * size * size, gain);
}

size_t ParameterLayout::AddWeights(std::string name, std::vector<int64_t> shape,
                                   int64_t fan_in, double gain) {
  ParameterInfo info;
  info.name = std::move(name);
  info.count = 1;
  for (const int64_t extent : shape) info.count *= extent;
  info.shape = std::move(shape);
  info.decay = true;
  info.deviation = gain * std::sqrt(2.0 / static_cast<double>(fan_in));
  return Add(std::move(info));
}

size_t ParameterLayout::AddVector(std::string name, int64_t count, double start) {
  ParameterInfo info;
  info.name = std::move(name);
  info.shape = {count};
  info.count = count;
  info.start = start;
  return Add(std::move(info));
}

size_t ParameterLayout::Add(ParameterInfo info) {
  info.offset = end_;
  count_ += info.count;
  end_ += (info.count + kAlignmentFloats - 1) / kAlignmentFloats * kAlignmentFloats;
  parameters_.push_back(std::move(info));
  return parameters_.size() - 1;
}

void ParameterLayout::Initialise(uint64_t seed, std::span<float> values) const {
  SS_CHECK(static_cast<int64_t>(values.size()) >= end_);
  std::fill(values.begin(), values.end(), 0.0F);
  for (const ParameterInfo& info : parameters_) {
    base::Random random(base::DeriveSeed(seed, "parameter " + info.name));
    for (int64_t i = 0; i < info.count; ++i) {
      const double noise = info.deviation > 0 ? info.deviation * random.Normal() : 0.0;
      values[static_cast<size_t>(info.offset + i)] =
          static_cast<float>(info.start + noise);
    }
  }
}

}  // namespace stepslack::model

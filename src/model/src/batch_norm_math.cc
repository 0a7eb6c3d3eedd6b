#include "batch_norm_math.h"

#include <algorithm>
#include <cmath>

#include "channel_rows.h"

namespace stepslack::model {
namespace {

constexpr double kMomentum = 0.1;

// Calls body(channel, first element) for every row of `inner` values.
template <typename Body>
void ForEachRow(const ChannelView& view, Body&& body) {
  for (int64_t n = 0; n < view.samples; ++n) {
    for (int64_t c = 0; c < view.channels; ++c) {
      body(static_cast<size_t>(c), (n * view.channels + c) * view.inner);
    }
  }
}

RowScale RowOf(const ChannelScale& scale, size_t channel) {
  return {scale.mean[channel], scale.factor[channel], scale.shift[channel], scale.relu};
}

}  // namespace

void SumMoments(const ChannelView& view, const float* x, std::span<double> sums) {
  const auto channels = static_cast<size_t>(view.channels);
  ForEachRow(view, [&](size_t c, int64_t begin) {
    const RowSums row = MomentsOfRow(x + begin, view.inner);
    sums[c] += row.first;
    sums[channels + c] += row.second;
  });
}

ChannelMoments MomentsOf(std::span<const double> sums) {
  const size_t channels = sums.size() / 2;
  ChannelMoments moments;
  moments.count = sums.back();
  moments.mean.assign(channels, 0.0);
  moments.variance.assign(channels, 1.0);
  moments.inverse.assign(channels, 1.0);
  if (moments.count <= 0) return moments;
  for (size_t c = 0; c < channels; ++c) {
    const double mean = sums[c] / moments.count;
    const double square = sums[channels + c] / moments.count;
    moments.mean[c] = mean;
    // A NaN must stay one: the trainer reports it.
    const double variance = square - mean * mean;
    moments.variance[c] = variance < 0 ? 0.0 : variance;
    moments.inverse[c] = 1.0 / std::sqrt(moments.variance[c] + kNormEpsilon);
  }
  return moments;
}

void UpdateRunning(const ChannelMoments& moments, std::span<float> mean,
                   std::span<float> variance) {
  if (moments.count <= 0) return;
  // One value has no variance: the biased one (zero) stands in.
  const double unbiased =
      moments.count > 1 ? moments.count / (moments.count - 1.0) : 1.0;
  const auto blend = [](float old, double value) {
    return static_cast<float>((1.0 - kMomentum) * static_cast<double>(old) +
                              kMomentum * value);
  };
  for (size_t c = 0; c < mean.size(); ++c) {
    mean[c] = blend(mean[c], moments.mean[c]);
    variance[c] = blend(variance[c], moments.variance[c] * unbiased);
  }
}

ChannelScale ScaleOf(const ChannelMoments& moments, const float* gain,
                     const float* shift, bool relu) {
  ChannelScale scale;
  scale.relu = relu;
  for (size_t c = 0; c < moments.mean.size(); ++c) {
    scale.mean.push_back(static_cast<float>(moments.mean[c]));
    scale.factor.push_back(
        static_cast<float>(static_cast<double>(gain[c]) * moments.inverse[c]));
    scale.shift.push_back(shift[c]);
  }
  return scale;
}

void Normalise(const ChannelView& view, const ChannelScale& scale, const float* x,
               float* y) {
  ForEachRow(view, [&](size_t c, int64_t begin) {
    NormaliseRow(RowOf(scale, c), x + begin, y + begin, view.inner);
  });
}

void SumSlopes(const ChannelView& view, const ChannelMoments& moments,
               const ChannelScale& scale, const float* x, const float* dy,
               std::span<double> sums) {
  const auto channels = static_cast<size_t>(view.channels);
  ForEachRow(view, [&](size_t c, int64_t begin) {
    const RowSums row = SlopesOfRow(RowOf(scale, c), x + begin, dy + begin, view.inner);
    sums[c] += row.first;
    sums[channels + c] += row.second * moments.inverse[c];
  });
}

void BackPropagate(const ChannelView& view, const ChannelMoments& moments,
                   const ChannelScale& scale, std::span<const double> sums,
                   const float* x, const float* dy, float* dx) {
  const auto channels = static_cast<size_t>(view.channels);
  const double share = moments.count > 0 ? 1.0 / moments.count : 0.0;
  ForEachRow(view, [&](size_t c, int64_t begin) {
    const auto slope = static_cast<float>(sums[c] * share);
    const auto product =
        static_cast<float>(sums[channels + c] * share * moments.inverse[c]);
    BackPropagateRow(RowOf(scale, c), slope, product, x + begin, dy + begin, dx + begin,
                     view.inner);
  });
}

}  // namespace stepslack::model

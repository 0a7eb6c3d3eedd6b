#include "batch_norm_math.h"

#include <algorithm>
#include <cmath>

namespace stepslack::model {
namespace {

constexpr double kMomentum = 0.1;

// Calls body(channel, first element, end element) for every row of `inner` values.
template <typename Body>
void ForEachRow(const ChannelView& view, Body&& body) {
  for (int64_t n = 0; n < view.samples; ++n) {
    for (int64_t c = 0; c < view.channels; ++c) {
      const int64_t begin = (n * view.channels + c) * view.inner;
      body(static_cast<size_t>(c), begin, begin + view.inner);
    }
  }
}

}  // namespace

void SumMoments(const ChannelView& view, const float* x, std::span<double> sums) {
  const auto channels = static_cast<size_t>(view.channels);
  ForEachRow(view, [&](size_t c, int64_t begin, int64_t end) {
    double sum = 0;
    double square = 0;
    for (int64_t i = begin; i < end; ++i) {
      const auto value = static_cast<double>(x[i]);
      sum += value;
      square += value * value;
    }
    sums[c] += sum;
    sums[channels + c] += square;
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

void Normalise(const ChannelView& view, const ChannelMoments& moments, const float* x,
               const float* gain, const float* shift, float* y) {
  ForEachRow(view, [&](size_t c, int64_t begin, int64_t end) {
    const double scale = static_cast<double>(gain[c]) * moments.inverse[c];
    const auto factor = static_cast<float>(scale);
    const auto mean = static_cast<float>(moments.mean[c]);
    const float offset = shift[c];
    for (int64_t i = begin; i < end; ++i) y[i] = (x[i] - mean) * factor + offset;
  });
}

void SumSlopes(const ChannelView& view, const ChannelMoments& moments, const float* x,
               const float* dy, std::span<double> sums) {
  const auto channels = static_cast<size_t>(view.channels);
  ForEachRow(view, [&](size_t c, int64_t begin, int64_t end) {
    const double mean = moments.mean[c];
    double sum = 0;
    double product = 0;
    for (int64_t i = begin; i < end; ++i) {
      const auto slope = static_cast<double>(dy[i]);
      sum += slope;
      product += slope * (static_cast<double>(x[i]) - mean);
    }
    sums[c] += sum;
    sums[channels + c] += product * moments.inverse[c];
  });
}

void BackPropagate(const ChannelView& view, const ChannelMoments& moments,
                   std::span<const double> sums, const float* gain, const float* x,
                   const float* dy, float* dx) {
  const auto channels = static_cast<size_t>(view.channels);
  const double share = moments.count > 0 ? 1.0 / moments.count : 0.0;
  ForEachRow(view, [&](size_t c, int64_t begin, int64_t end) {
    const double inverse = moments.inverse[c];
    const auto factor = static_cast<float>(static_cast<double>(gain[c]) * inverse);
    const auto mean = static_cast<float>(moments.mean[c]);
    const auto slope = static_cast<float>(sums[c] * share);
    const auto product = static_cast<float>(sums[channels + c] * share * inverse);
    for (int64_t i = begin; i < end; ++i) {
      dx[i] = factor * (dy[i] - slope - (x[i] - mean) * product);
    }
  });
}

}  // namespace stepslack::model

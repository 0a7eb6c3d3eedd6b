// The arithmetic of batch normalisation on plain arrays [samples, channels, inner].
#pragma once

#include <cstdint>
#include <exception>
#include <span>
#include <utility>
#include <vector>

#include "stepslack/base/result.h"

namespace stepslack::model {

// Leaves a tensor operation when the sum over ranks ended with an Error.
class RankSumFailure : public std::exception {
 public:
  explicit RankSumFailure(base::Error error) : error_(std::move(error)) {}
  const base::Error& error() const { return error_; }
  const char* what() const noexcept override { return error_.what.c_str(); }

 private:
  base::Error error_;
};

struct ChannelView {
  int64_t samples = 0;
  int64_t channels = 0;
  int64_t inner = 0;  // pixels of a channel
};

// Of each channel, over the whole batch on all ranks.
struct ChannelMoments {
  std::vector<double> mean;
  std::vector<double> variance;  // biased: divided by count
  std::vector<double> inverse;   // 1 / sqrt(variance + epsilon)
  double count = 0;              // values of a channel
};

inline constexpr double kNormEpsilon = 1e-5;

// Adds sum x to sums[c] and sum x^2 to sums[channels + c].
void SumMoments(const ChannelView& view, const float* x, std::span<double> sums);
// From the sums over all ranks, with the count behind them. No values: mean 0,
// variance 1.
ChannelMoments MomentsOf(std::span<const double> sums);
// running = 0.9 running + 0.1 batch; the variance with count - 1.
void UpdateRunning(const ChannelMoments& moments, std::span<float> mean,
                   std::span<float> variance);
// Per channel: y = (x - mean) * factor + shift, then ReLU if asked.
struct ChannelScale {
  std::vector<float> mean;
  std::vector<float> factor;  // gain * inverse
  std::vector<float> shift;
  bool relu = false;
};
ChannelScale ScaleOf(const ChannelMoments& moments, const float* gain,
                     const float* shift, bool relu);
void Normalise(const ChannelView& view, const ChannelScale& scale, const float* x,
               float* y);
// Adds sum dy to sums[c] and sum dy * normalised x to sums[channels + c]; where ReLU
// cut y off, dy counts as zero.
void SumSlopes(const ChannelView& view, const ChannelMoments& moments,
               const ChannelScale& scale, const float* x, const float* dy,
               std::span<double> sums);
// dx = factor * (dy - mean(dy) - normalised x * mean(dy * normalised x)), the means
// from `sums` over all ranks.
void BackPropagate(const ChannelView& view, const ChannelMoments& moments,
                   const ChannelScale& scale, std::span<const double> sums,
                   const float* x, const float* dy, float* dx);

}  // namespace stepslack::model

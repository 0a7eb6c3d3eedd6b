// Two predictors that any network has to beat: a constant times the mean current, and a
// linear model with physics in its features. Static drop is linear in the current, so
// both predict drop / mean current of the tile and scale it back.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "stepslack/base/result.h"
#include "stepslack/data/map_collection.h"
#include "stepslack/stats/least_squares.h"

namespace stepslack::quality {

// Tiles as the trainer reads them; not owned. Channels are found by name: "current",
// "template" (class index), "stripe", "pad_distance"; any of them may be missing,
// others are left unused. Without "current" targets are not scaled.
struct TileArrays {
  std::span<const float> x;  // [n, channels, height, width]
  std::span<const float> y;  // [n, height, width]
  int64_t n = 0;
  int64_t height = 0;
  int64_t width = 0;
  std::span<const data::Channel> channels;
};

struct BaselineOptions {
  // Training pixels: all when they are fewer, else the same number from every tile, one
  // from each of equal stretches of it at a seeded place.
  int64_t max_pixels = 300'000;  // 100 to 100,000,000
  uint64_t seed = 1;
  double ridge = 1e-4;  // see stats::CrossProducts::Solve
};

struct FitFacts {
  int64_t tiles_used = 0;
  int64_t tiles_skipped = 0;  // mean current not positive: no scale
  int64_t pixels_used = 0;
  int64_t pixels_skipped = 0;  // a value is not finite
};

// target = factor * mean current, with the factor that minimises sum |error| / sum |y|
// on the training pixels: the median of y / mean current, weighted by mean current.
class ConstantBaseline {
 public:
  // Errors: QUAL-0010 sizes or channel count do not fit; QUAL-0011 index out of range;
  // QUAL-0012 option out of range; QUAL-0013 no usable training pixel.
  static base::Result<ConstantBaseline> Fit(const TileArrays& tiles,
                                            std::span<const int64_t> train,
                                            const BaselineOptions& options);

  // [indices, height, width] in the order of `indices`; a tile without positive mean
  // current is predicted 0. Errors: QUAL-0010, QUAL-0011.
  base::Result<std::vector<float>> Predict(const TileArrays& tiles,
                                           std::span<const int64_t> indices) const;

  double factor() const { return factor_; }  // mV per unit of current, or mV
  const FitFacts& facts() const { return facts_; }

 private:
  ConstantBaseline() = default;
  double factor_ = 0;
  FitFacts facts_;
};

// Ridge regression of y / mean current on: current / mean and its averages over squares
// of radius 2, 4, 8, 16; pad distance d, log(1 + d), 1 / (1 + d); stripe; one feature
// per template class seen in training; products of the averages with log(1 + d), and of
// stripe and template with it. Predictions below the smallest possible drop, 0, are cut
// when no training target is negative.
class LinearBaseline {
 public:
  // Errors as ConstantBaseline, QUAL-0014 more than 32 template classes, and those of
  // stats::CrossProducts::Solve.
  static base::Result<LinearBaseline> Fit(const TileArrays& tiles,
                                          std::span<const int64_t> train,
                                          const BaselineOptions& options);
  base::Result<std::vector<float>> Predict(const TileArrays& tiles,
                                           std::span<const int64_t> indices) const;

  const std::vector<std::string>& feature_names() const { return names_; }
  const stats::LinearModel& model() const { return model_; }
  const FitFacts& facts() const { return facts_; }

 private:
  LinearBaseline() = default;
  std::vector<float> classes_;  // template classes of training, ascending
  bool cut_at_zero_ = false;
  std::vector<std::string> names_;
  stats::LinearModel model_;
  FitFacts facts_;
};

}  // namespace stepslack::quality

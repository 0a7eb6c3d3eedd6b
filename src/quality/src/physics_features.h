// Local features of one pixel from the channels of its tile.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stepslack/quality/baselines.h"

namespace stepslack::quality {

// Positions of the known channels; absent when the data set has no such channel.
struct ChannelPlaces {
  std::optional<size_t> current;
  std::optional<size_t> template_class;
  std::optional<size_t> stripe;
  std::optional<size_t> pad_distance;
};
ChannelPlaces FindChannels(std::span<const data::Channel> channels);

std::span<const float> PlaneOf(const TileArrays& tiles, int64_t tile, size_t channel);
std::span<const float> TargetOf(const TileArrays& tiles, int64_t tile);

// Mean current of the tile, 1 without such a channel; absent when it is not a positive
// number, so that nothing can be scaled by it.
std::optional<double> ScaleOf(const TileArrays& tiles, int64_t tile,
                              const ChannelPlaces& places);

// Places of the training pixels of one tile, ascending; the same for every order of
// tiles.
std::vector<int64_t> SamplePixels(int64_t pixels, int64_t wanted, uint64_t seed,
                                  int64_t tile);

// Sums over rectangles of one plane in constant time each.
class BoxAverages {
 public:
  BoxAverages(std::span<const float> plane, int64_t height, int64_t width);
  // Mean over the square of the given radius, cut at the edges of the plane.
  double At(int64_t row, int64_t column, int64_t radius) const;

 private:
  int64_t height_;
  int64_t width_;
  std::vector<double> sums_;  // (height + 1) x (width + 1)
};

// The features of one tile. `tiles` must outlive it.
class TileFeatures {
 public:
  // `classes`: known template classes, ascending; the first is the reference and has no
  // feature of its own, so that features stay independent of the intercept.
  TileFeatures(const TileArrays& tiles, int64_t tile, const ChannelPlaces& places,
               double scale, std::span<const float> classes);

  static std::vector<std::string> Names(const ChannelPlaces& places,
                                        std::span<const float> classes);
  // Fills `features` (as many as Names gives) for one pixel.
  void Fill(int64_t pixel, std::vector<double>& features) const;

 private:
  double Value(const std::optional<size_t>& channel, int64_t pixel) const;

  const TileArrays& tiles_;
  int64_t tile_;
  ChannelPlaces places_;
  double scale_;
  std::span<const float> classes_;
  std::optional<BoxAverages> current_;
};

}  // namespace stepslack::quality

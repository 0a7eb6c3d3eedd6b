#include "physics_features.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "stepslack/base/random.h"

namespace stepslack::quality {
namespace {

constexpr std::array<int64_t, 5> kRadii = {0, 2, 4, 8, 16};

std::optional<size_t> Find(std::span<const data::Channel> channels,
                           std::string_view name) {
  for (size_t i = 0; i < channels.size(); ++i) {
    if (channels[i].name == name) return i;
  }
  return std::nullopt;
}

}  // namespace

ChannelPlaces FindChannels(std::span<const data::Channel> channels) {
  return {Find(channels, "current"), Find(channels, "template"),
          Find(channels, "stripe"), Find(channels, "pad_distance")};
}

std::span<const float> PlaneOf(const TileArrays& tiles, int64_t tile, size_t channel) {
  const auto plane = static_cast<size_t>(tiles.height * tiles.width);
  const size_t index = static_cast<size_t>(tile) * tiles.channels.size() + channel;
  return tiles.x.subspan(index * plane, plane);
}

std::span<const float> TargetOf(const TileArrays& tiles, int64_t tile) {
  const auto plane = static_cast<size_t>(tiles.height * tiles.width);
  return tiles.y.subspan(static_cast<size_t>(tile) * plane, plane);
}

std::optional<double> ScaleOf(const TileArrays& tiles, int64_t tile,
                              const ChannelPlaces& places) {
  if (!places.current.has_value()) return 1.0;
  double sum = 0;
  for (float v : PlaneOf(tiles, tile, *places.current)) sum += v;
  const double mean = sum / static_cast<double>(tiles.height * tiles.width);
  if (!std::isfinite(mean) || mean <= 0) return std::nullopt;
  return mean;
}

std::vector<int64_t> SamplePixels(int64_t pixels, int64_t wanted, uint64_t seed,
                                  int64_t tile) {
  const int64_t count = std::clamp<int64_t>(wanted, 1, pixels);
  std::vector<int64_t> places(static_cast<size_t>(count));
  base::Random random(
      base::DeriveSeed(seed, "fit pixels", static_cast<uint64_t>(tile)));
  for (int64_t i = 0; i < count; ++i) {
    const int64_t begin = i * pixels / count;
    const int64_t end = (i + 1) * pixels / count;
    places[static_cast<size_t>(i)] =
        begin + static_cast<int64_t>(random.Below(static_cast<uint64_t>(end - begin)));
  }
  return places;
}

BoxAverages::BoxAverages(std::span<const float> plane, int64_t height, int64_t width)
    : height_(height), width_(width) {
  const auto stride = static_cast<size_t>(width) + 1;
  sums_.assign((static_cast<size_t>(height) + 1) * stride, 0.0);
  for (size_t r = 0; r < static_cast<size_t>(height); ++r) {
    double row = 0;
    for (size_t c = 0; c + 1 < stride; ++c) {
      row += plane[r * (stride - 1) + c];
      sums_[(r + 1) * stride + c + 1] = sums_[r * stride + c + 1] + row;
    }
  }
}

double BoxAverages::At(int64_t row, int64_t column, int64_t radius) const {
  const int64_t top = std::max<int64_t>(0, row - radius);
  const int64_t bottom = std::min(height_, row + radius + 1);
  const int64_t left = std::max<int64_t>(0, column - radius);
  const int64_t right = std::min(width_, column + radius + 1);
  const auto sum = [&](int64_t r, int64_t c) {
    return sums_[static_cast<size_t>(r * (width_ + 1) + c)];
  };
  const double total =
      sum(bottom, right) - sum(top, right) - sum(bottom, left) + sum(top, left);
  return total / static_cast<double>((bottom - top) * (right - left));
}

TileFeatures::TileFeatures(const TileArrays& tiles, int64_t tile,
                           const ChannelPlaces& places, double scale,
                           std::span<const float> classes)
    : tiles_(tiles), tile_(tile), places_(places), scale_(scale), classes_(classes) {
  if (places.current.has_value()) {
    current_.emplace(PlaneOf(tiles, tile, *places.current), tiles.height, tiles.width);
  }
}

std::vector<std::string> TileFeatures::Names(const ChannelPlaces& places,
                                             std::span<const float> classes) {
  std::vector<std::string> base;
  if (places.current.has_value()) {
    for (int64_t radius : kRadii) base.push_back(fmt::format("current r{}", radius));
  }
  if (places.stripe.has_value()) base.push_back("stripe");
  for (size_t i = 1; i < classes.size(); ++i) {
    base.push_back(fmt::format("template {}", classes[i]));
  }
  std::vector<std::string> names = base;
  if (places.pad_distance.has_value()) {
    for (const char* name : {"d", "log(1+d)", "1/(1+d)"}) names.push_back(name);
    for (const std::string& name : base) names.push_back(name + " * log(1+d)");
    for (const std::string& name : base) names.push_back(name + " * d");
  }
  return names;
}

double TileFeatures::Value(const std::optional<size_t>& channel, int64_t pixel) const {
  return PlaneOf(tiles_, tile_, *channel)[static_cast<size_t>(pixel)];
}

void TileFeatures::Fill(int64_t pixel, std::vector<double>& features) const {
  features.clear();
  if (current_.has_value()) {
    const int64_t row = pixel / tiles_.width;
    const int64_t column = pixel % tiles_.width;
    for (int64_t radius : kRadii) {
      features.push_back(current_->At(row, column, radius) / scale_);
    }
  }
  if (places_.stripe.has_value()) features.push_back(Value(places_.stripe, pixel));
  if (places_.template_class.has_value()) {
    const double own = Value(places_.template_class, pixel);
    for (size_t i = 1; i < classes_.size(); ++i) {
      features.push_back(own == static_cast<double>(classes_[i]) ? 1.0 : 0.0);
    }
  }
  if (!places_.pad_distance.has_value()) return;
  const size_t base = features.size();
  // A distance below zero has no meaning; the logarithm must not see it.
  const double d = std::max(0.0, Value(places_.pad_distance, pixel));
  const double logarithm = std::log1p(d);
  features.push_back(d);
  features.push_back(logarithm);
  features.push_back(1 / (1 + d));
  for (size_t i = 0; i < base; ++i) features.push_back(features[i] * logarithm);
  for (size_t i = 0; i < base; ++i) features.push_back(features[i] * d);
}

}  // namespace stepslack::quality

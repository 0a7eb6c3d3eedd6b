#include "stepslack/quality/baselines.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "physics_features.h"

namespace stepslack::quality {
namespace {

using base::ExitCode;
using base::Fail;

constexpr size_t kMaxClasses = 32;

base::Status CheckTiles(const TileArrays& tiles) {
  constexpr int64_t kMaxSide = int64_t{1} << 20;
  bool fits = tiles.n >= 1 && tiles.height >= 1 && tiles.width >= 1 &&
              tiles.height <= kMaxSide && tiles.width <= kMaxSide &&
              !tiles.channels.empty();
  if (fits) {
    const size_t plane = static_cast<size_t>(tiles.height * tiles.width);
    const size_t n = static_cast<size_t>(tiles.n);
    // Division instead of products: a wild n must not wrap around.
    fits = tiles.y.size() / plane == n && tiles.y.size() % plane == 0 &&
           tiles.x.size() / tiles.channels.size() == tiles.y.size() &&
           tiles.x.size() % tiles.channels.size() == 0;
  }
  if (fits) return {};
  return Fail(
      "QUAL-0010", ExitCode::kInput,
      fmt::format("{} inputs and {} targets are not {} tiles of {} x {} with {} "
                  "channels",
                  tiles.x.size(), tiles.y.size(), tiles.n, tiles.height, tiles.width,
                  tiles.channels.size()),
      "baseline", "cut the tiles again from this data set");
}

base::Status CheckIndices(const TileArrays& tiles, std::span<const int64_t> indices) {
  for (int64_t index : indices) {
    if (index >= 0 && index < tiles.n) continue;
    return Fail("QUAL-0011", ExitCode::kInput,
                fmt::format("tile {} is not one of {}", index, tiles.n), "baseline",
                "use the split that belongs to these tiles");
  }
  return {};
}

base::Status CheckOptions(const BaselineOptions& options) {
  if (options.max_pixels >= 100 && options.max_pixels <= 100'000'000) return {};
  return Fail("QUAL-0012", ExitCode::kUsage,
              fmt::format("max_pixels is {}", options.max_pixels), "baseline",
              "give 100 to 100000000");
}

base::Status CheckFit(const TileArrays& tiles, std::span<const int64_t> train,
                      const BaselineOptions& options) {
  SS_RETURN_IF_ERROR(CheckTiles(tiles));
  SS_RETURN_IF_ERROR(CheckIndices(tiles, train));
  return CheckOptions(options);
}

base::Status CheckUsed(const FitFacts& facts) {
  if (facts.pixels_used > 0) return {};
  return Fail(
      "QUAL-0013", ExitCode::kInput,
      fmt::format("no training pixel can be used: {} tiles have no positive mean "
                  "current, {} pixels are not finite",
                  facts.tiles_skipped, facts.pixels_skipped),
      "baseline", "check the current channel and the training split");
}

// Calls visit(tile, scale, pixels) for every training tile that has a scale.
template <typename Visit>
void VisitTiles(const TileArrays& tiles, std::span<const int64_t> train,
                const BaselineOptions& options, FitFacts& facts, Visit visit) {
  const ChannelPlaces places = FindChannels(tiles.channels);
  const int64_t pixels = tiles.height * tiles.width;
  const int64_t per_tile =
      train.empty() ? 0 : options.max_pixels / static_cast<int64_t>(train.size());
  for (int64_t tile : train) {
    const std::optional<double> scale = ScaleOf(tiles, tile, places);
    if (!scale.has_value()) {
      ++facts.tiles_skipped;
      continue;
    }
    ++facts.tiles_used;
    visit(tile, *scale, SamplePixels(pixels, per_tile, options.seed, tile));
  }
}

// Ascending template classes of the training tiles; empty without such a channel.
base::Result<std::vector<float>> TemplateClasses(const TileArrays& tiles,
                                                 std::span<const int64_t> train) {
  const ChannelPlaces places = FindChannels(tiles.channels);
  std::set<float> classes;
  if (places.template_class.has_value()) {
    for (int64_t tile : train) {
      float last = std::nanf("");
      for (float v : PlaneOf(tiles, tile, *places.template_class)) {
        if (v != last && std::isfinite(v)) classes.insert(v);
        last = v;
        if (classes.size() > kMaxClasses) {
          return Fail("QUAL-0014", ExitCode::kInput,
                      fmt::format("more than {} template classes", kMaxClasses),
                      fmt::format("baseline, tile {}", tile),
                      "the channel named template must hold class indices");
        }
      }
    }
  }
  return std::vector<float>(classes.begin(), classes.end());
}

// Value at which half the weight is reached; `values` are (value, weight).
double WeightedMedian(std::vector<std::pair<double, double>> values) {
  std::sort(values.begin(), values.end());
  double total = 0;
  for (const auto& [value, weight] : values) total += weight;
  double running = 0;
  for (const auto& [value, weight] : values) {
    running += weight;
    if (running >= total / 2) return value;
  }
  return values.back().first;
}

}  // namespace

base::Result<ConstantBaseline> ConstantBaseline::Fit(const TileArrays& tiles,
                                                     std::span<const int64_t> train,
                                                     const BaselineOptions& options) {
  SS_RETURN_IF_ERROR(CheckFit(tiles, train, options));
  ConstantBaseline baseline;
  FitFacts& facts = baseline.facts_;
  std::vector<std::pair<double, double>> ratios;
  VisitTiles(tiles, train, options, facts,
             [&](int64_t tile, double scale, const std::vector<int64_t>& pixels) {
               const std::span<const float> target = TargetOf(tiles, tile);
               for (int64_t pixel : pixels) {
                 const double y = target[static_cast<size_t>(pixel)];
                 if (std::isfinite(y)) {
                   ratios.emplace_back(y / scale, scale);
                 } else {
                   ++facts.pixels_skipped;
                 }
               }
             });
  facts.pixels_used = static_cast<int64_t>(ratios.size());
  SS_RETURN_IF_ERROR(CheckUsed(facts));
  baseline.factor_ = WeightedMedian(std::move(ratios));
  return baseline;
}

base::Result<std::vector<float>> ConstantBaseline::Predict(
    const TileArrays& tiles, std::span<const int64_t> indices) const {
  SS_RETURN_IF_ERROR(CheckTiles(tiles));
  SS_RETURN_IF_ERROR(CheckIndices(tiles, indices));
  const ChannelPlaces places = FindChannels(tiles.channels);
  const auto pixels = static_cast<size_t>(tiles.height * tiles.width);
  std::vector<float> prediction;
  prediction.reserve(indices.size() * pixels);
  for (int64_t tile : indices) {
    const double value = factor_ * ScaleOf(tiles, tile, places).value_or(0.0);
    prediction.insert(prediction.end(), pixels, static_cast<float>(value));
  }
  return prediction;
}

base::Result<LinearBaseline> LinearBaseline::Fit(const TileArrays& tiles,
                                                 std::span<const int64_t> train,
                                                 const BaselineOptions& options) {
  SS_RETURN_IF_ERROR(CheckFit(tiles, train, options));
  LinearBaseline baseline;
  SS_TRY(baseline.classes_, TemplateClasses(tiles, train));
  const ChannelPlaces places = FindChannels(tiles.channels);
  baseline.names_ = TileFeatures::Names(places, baseline.classes_);
  FitFacts& facts = baseline.facts_;
  if (baseline.names_.empty()) {
    // No known channel: nothing but the mean can be fitted; one silent feature does it.
    baseline.names_.push_back("none");
  }
  stats::CrossProducts products(static_cast<int>(baseline.names_.size()));
  baseline.cut_at_zero_ = true;
  std::vector<double> features;
  VisitTiles(tiles, train, options, facts,
             [&](int64_t tile, double scale, const std::vector<int64_t>& pixels) {
               const TileFeatures of_tile(tiles, tile, places, scale,
                                          baseline.classes_);
               const std::span<const float> target = TargetOf(tiles, tile);
               for (int64_t pixel : pixels) {
                 const double y = target[static_cast<size_t>(pixel)];
                 of_tile.Fill(pixel, features);
                 features.resize(baseline.names_.size(), 0.0);
                 products.Add(features, y / scale);
                 if (y < 0) baseline.cut_at_zero_ = false;
               }
             });
  facts.pixels_used = products.rows();
  facts.pixels_skipped = products.skipped();
  SS_RETURN_IF_ERROR(CheckUsed(facts));
  SS_TRY(baseline.model_, products.Solve(options.ridge));
  return baseline;
}

base::Result<std::vector<float>> LinearBaseline::Predict(
    const TileArrays& tiles, std::span<const int64_t> indices) const {
  SS_RETURN_IF_ERROR(CheckTiles(tiles));
  SS_RETURN_IF_ERROR(CheckIndices(tiles, indices));
  const ChannelPlaces places = FindChannels(tiles.channels);
  const int64_t pixels = tiles.height * tiles.width;
  std::vector<float> prediction;
  prediction.reserve(indices.size() * static_cast<size_t>(pixels));
  std::vector<double> features;
  for (int64_t tile : indices) {
    const std::optional<double> scale = ScaleOf(tiles, tile, places);
    if (!scale.has_value()) {
      prediction.insert(prediction.end(), static_cast<size_t>(pixels), 0.0F);
      continue;
    }
    const TileFeatures of_tile(tiles, tile, places, *scale, classes_);
    for (int64_t pixel = 0; pixel < pixels; ++pixel) {
      of_tile.Fill(pixel, features);
      features.resize(names_.size(), 0.0);
      const double value = model_.Predict(features) * *scale;
      prediction.push_back(
          static_cast<float>(cut_at_zero_ ? std::max(0.0, value) : value));
    }
  }
  return prediction;
}

}  // namespace stepslack::quality

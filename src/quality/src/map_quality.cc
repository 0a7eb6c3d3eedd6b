#include "stepslack/quality/map_quality.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <utility>

#include "hotspots.h"
#include "map_views.h"

namespace stepslack::quality {
namespace {

using base::ExitCode;
using base::Fail;
using stats::ClusterSums;

base::Status CheckOptions(const QualityOptions& options) {
  const char* wrong = nullptr;
  if (!(options.hotspot_fraction > 0 && options.hotspot_fraction < 1)) {
    wrong = "hotspot_fraction must lie between 0 and 1";
  } else if (options.hotspot_radius < 0 || options.hotspot_radius > 64) {
    wrong = "hotspot_radius must lie in 0 to 64";
  } else if (options.blocks_per_side < 1 || options.blocks_per_side > 1024) {
    wrong = "blocks_per_side must lie in 1 to 1024";
  } else if (!(options.worst_share > 0 && options.worst_share <= 1)) {
    wrong = "worst_share must lie in 0 to 1";
  } else if (!(options.inspected_share > 0 && options.inspected_share <= 1)) {
    wrong = "inspected_share must lie in 0 to 1";
  }
  if (wrong == nullptr) return {};
  return Fail("QUAL-0001", ExitCode::kUsage, wrong, "", "correct this option");
}

void ScoreHotspots(const MapView& map, const QualityOptions& options, MapScore& score) {
  if (!(score.max_target > 0)) return;
  const double threshold = options.hotspot_fraction * score.max_target;
  std::vector<uint8_t> hot(map.target.size());
  for (size_t i = 0; i < hot.size(); ++i) {
    hot[i] = static_cast<double>(map.target[i]) > threshold ? 1 : 0;
    score.hotspots += hot[i];
  }
  const std::vector<uint8_t> predicted = LargestMask(map.prediction, score.hotspots);
  const int64_t radius = options.hotspot_radius;
  score.hotspots_found =
      CountBoth(hot, Dilate(predicted, map.height, map.width, radius));
  score.predictions_right =
      CountBoth(predicted, Dilate(hot, map.height, map.width, radius));
  score.hotspots_overlapped = CountBoth(hot, predicted);
}

void ScoreBlocks(const MapView& map, const QualityOptions& options, MapScore& score) {
  const int64_t rows = std::min(options.blocks_per_side, map.height);
  const int64_t columns = std::min(options.blocks_per_side, map.width);
  const double blocks = static_cast<double>(rows * columns);
  // A share of 0.1 of 50 blocks is 5, whatever the last bit of the product says.
  const auto worst =
      static_cast<size_t>(std::ceil(options.worst_share * blocks - 1e-9));
  const auto inspected = static_cast<size_t>(
      std::max(1.0, std::floor(options.inspected_share * blocks + 1e-9)));
  const auto order = [&](std::span<const float> values) {
    return DescendingOrder(BlockMaxima(values, map.height, map.width, rows, columns));
  };
  const std::vector<size_t> truth = order(map.target);
  const std::vector<size_t> guess = order(map.prediction);
  std::vector<uint8_t> seen(truth.size(), 0);
  for (size_t i = 0; i < inspected; ++i) seen[guess[i]] = 1;
  score.worst_blocks = static_cast<int64_t>(worst);
  for (size_t i = 0; i < worst; ++i) score.worst_blocks_found += seen[truth[i]];
}

MapScore ScoreOne(const MapView& map, const QualityOptions& options) {
  MapScore score;
  score.id = map.id;
  score.group = map.group;
  score.source = map.source;
  score.pixels = map.height * map.width;
  for (size_t i = 0; i < map.target.size(); ++i) {
    const double target = map.target[i];
    score.absolute_error += std::fabs(static_cast<double>(map.prediction[i]) - target);
    score.absolute_target += std::fabs(target);
  }
  score.max_target = *std::max_element(map.target.begin(), map.target.end());
  score.max_prediction =
      *std::max_element(map.prediction.begin(), map.prediction.end());
  ScoreHotspots(map, options, score);
  ScoreBlocks(map, options, score);
  return score;
}

// Sums of one figure by group, in the order of the group names.
std::vector<ClusterSums> ByGroup(
    std::span<const MapScore> scores,
    const std::function<ClusterSums(const MapScore&)>& sums_of) {
  std::map<std::string_view, ClusterSums> groups;
  for (const MapScore& score : scores) {
    const ClusterSums sums = sums_of(score);
    ClusterSums& group = groups[score.group];
    group.numerator += sums.numerator;
    group.denominator += sums.denominator;
  }
  std::vector<ClusterSums> clusters;
  for (const auto& [name, sums] : groups) clusters.push_back(sums);
  return clusters;
}

// One map's share found / total; a map without any does not count.
ClusterSums Share(int64_t found, int64_t total) {
  if (total == 0) return {};
  return {static_cast<double>(found) / static_cast<double>(total), 1.0};
}

double MaxError(const MapScore& score) {
  return std::fabs(score.max_prediction - score.max_target);
}

// Slices of one dimension: a name for every score.
void AppendSlices(std::span<const MapScore> scores, const QualityOptions& options,
                  const std::string& dimension,
                  const std::function<std::string(size_t)>& name_of,
                  std::vector<SliceQuality>& slices) {
  std::map<std::string, std::vector<MapScore>> parts;
  for (size_t i = 0; i < scores.size(); ++i) parts[name_of(i)].push_back(scores[i]);
  const auto first = static_cast<std::ptrdiff_t>(slices.size());
  for (const auto& [name, part] : parts) {
    slices.push_back({dimension, name, "", Summarise(part, options)});
    if (dimension != "drop tercile") continue;
    const auto [low, high] = std::minmax_element(
        part.begin(), part.end(), [](const MapScore& a, const MapScore& b) {
          return a.max_target < b.max_target;
        });
    slices.back().detail =
        fmt::format("largest label {:.4g} to {:.4g} {}", low->max_target,
                    high->max_target, options.target_unit);
  }
  std::stable_sort(slices.begin() + first, slices.end(),
                   [](const SliceQuality& a, const SliceQuality& b) {
                     return a.quality.relative_mae.value.value_or(-1) >
                            b.quality.relative_mae.value.value_or(-1);
                   });
}

// Tercile of each score by its largest label; equal labels keep their order.
std::vector<std::string> Terciles(std::span<const MapScore> scores) {
  std::vector<float> labels;
  for (const MapScore& score : scores) {
    labels.push_back(static_cast<float>(score.max_target));
  }
  const std::vector<size_t> order = DescendingOrder(labels);
  std::vector<std::string> names(scores.size());
  for (size_t rank = 0; rank < order.size(); ++rank) {
    const size_t third = rank * 3 / order.size();
    names[order[rank]] = third == 0 ? "high" : (third == 1 ? "middle" : "low");
  }
  return names;
}

}  // namespace

base::Result<std::vector<MapScore>> ScoreMaps(std::span<const MapView> maps,
                                              const QualityOptions& options) {
  SS_RETURN_IF_ERROR(CheckOptions(options));
  SS_RETURN_IF_ERROR(CheckMaps(maps));
  std::vector<MapScore> scores;
  scores.reserve(maps.size());
  for (const MapView& map : maps) scores.push_back(ScoreOne(map, options));
  return scores;
}

MapQuality Summarise(std::span<const MapScore> scores, const QualityOptions& options) {
  MapQuality quality;
  quality.maps = static_cast<int64_t>(scores.size());
  const auto ratio = [&](const std::string& unit, auto sums_of) {
    stats::BootstrapOptions bootstrap = options.bootstrap;
    bootstrap.unit = unit;
    return stats::ClusterRatio(ByGroup(scores, sums_of), bootstrap);
  };
  const auto share = [&](auto sums_of) {
    stats::BootstrapOptions bootstrap = options.bootstrap;
    bootstrap.unit = "1";
    return stats::ClusterShare(ByGroup(scores, sums_of), bootstrap);
  };
  quality.mae = ratio(options.target_unit, [](const MapScore& s) {
    return ClusterSums{s.absolute_error, static_cast<double>(s.pixels)};
  });
  quality.groups = quality.mae.n;
  quality.relative_mae = ratio("1", [](const MapScore& s) {
    return ClusterSums{s.absolute_error, s.absolute_target};
  });
  quality.max_error = ratio(options.target_unit, [](const MapScore& s) {
    return ClusterSums{MaxError(s), 1.0};
  });
  quality.relative_max_error = ratio("1", [](const MapScore& s) {
    return ClusterSums{MaxError(s), std::fabs(s.max_target)};
  });
  quality.hotspot_recall =
      share([](const MapScore& s) { return Share(s.hotspots_found, s.hotspots); });
  quality.hotspot_precision =
      share([](const MapScore& s) { return Share(s.predictions_right, s.hotspots); });
  quality.hotspot_overlap =
      share([](const MapScore& s) { return Share(s.hotspots_overlapped, s.hotspots); });
  quality.block_recall = share(
      [](const MapScore& s) { return Share(s.worst_blocks_found, s.worst_blocks); });
  return quality;
}

std::vector<SliceQuality> SliceQualities(std::span<const MapScore> scores,
                                         const QualityOptions& options) {
  std::vector<SliceQuality> slices;
  AppendSlices(
      scores, options, "source", [&](size_t i) { return scores[i].source; }, slices);
  AppendSlices(
      scores, options, "group", [&](size_t i) { return scores[i].group; }, slices);
  if (scores.size() >= 3) {
    const std::vector<std::string> terciles = Terciles(scores);
    AppendSlices(
        scores, options, "drop tercile", [&](size_t i) { return terciles[i]; }, slices);
  }
  return slices;
}

}  // namespace stepslack::quality

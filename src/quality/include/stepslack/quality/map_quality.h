// What a predicted map is worth to the people who use it: error in mV, hotspots found,
// blocks inspected in the right order. Every figure is an estimate over leakage groups
// (design families): maps of a family are not independent, so n counts families.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "stepslack/base/estimate.h"
#include "stepslack/base/result.h"
#include "stepslack/stats/bootstrap.h"

namespace stepslack::quality {

// One map and its prediction, row-major, height * width values each; not owned.
struct MapView {
  std::string id;
  std::string group;   // leakage unit
  std::string source;  // where the map came from
  int64_t height = 0;
  int64_t width = 0;
  std::span<const float> target;
  std::span<const float> prediction;
};

struct QualityOptions {
  double hotspot_fraction = 0.9;  // in (0, 1)
  int64_t hotspot_radius = 2;     // tiles, 0 to 64
  int64_t blocks_per_side = 8;   // K, 1 to 1024; less on a map with fewer pixels a side
  double worst_share = 0.1;      // in (0, 1]: blocks that matter
  double inspected_share = 0.2;  // in (0, 1]: blocks looked at
  std::string target_unit = "mV";
  stats::BootstrapOptions bootstrap;  // `unit` is set for each figure
};

// Sums of one map.
//
// Hotspots are the pixels above hotspot_fraction times the map's own largest label; k
// is their number (0 for a map without a positive label). The k pixels with the largest
// predictions are the predicted hotspots, whatever the scale of the prediction; equal
// predictions rank by position. A hotspot is found when a predicted one lies within
// hotspot_radius tiles of it in both directions; a predicted one is right when a
// hotspot lies that near. Scattered guesses find many hotspots but few of them are
// right: read recall with precision, or the overlap, which is both at radius 0.
//
// The map is cut into K x K blocks as equal as can be. The worst ceil(worst_share *
// K^2) blocks by largest label are looked for among the floor(inspected_share * K^2)
// (at least one) blocks with the largest predicted maximum.
struct MapScore {
  std::string id;
  std::string group;
  std::string source;
  int64_t pixels = 0;
  double absolute_error = 0;   // sum of |prediction - target|
  double absolute_target = 0;  // sum of |target|
  double max_target = 0;
  double max_prediction = 0;
  int64_t hotspots = 0;
  int64_t hotspots_found = 0;
  int64_t predictions_right = 0;  // of as many predicted hotspots
  int64_t hotspots_overlapped = 0;
  int64_t worst_blocks = 0;
  int64_t worst_blocks_found = 0;
};

// Errors: QUAL-0001 option out of range; QUAL-0002 no maps; QUAL-0003 a map is empty or
// its sizes differ; QUAL-0004 a label or prediction is not finite.
base::Result<std::vector<MapScore>> ScoreMaps(std::span<const MapView> maps,
                                              const QualityOptions& options);

// Pixel errors weigh every pixel the same, all other figures every map.
struct MapQuality {
  int64_t maps = 0;
  int64_t groups = 0;
  base::Estimate mae;                 // sum|e| / pixels, in target_unit
  base::Estimate relative_mae;        // sum|e| / sum|y|, over all pixels of all maps
  base::Estimate max_error;           // mean |max prediction - max label|, target_unit
  base::Estimate relative_max_error;  // sum |max p - max y| / sum max y
  base::Estimate hotspot_recall;      // mean over maps that have hotspots
  base::Estimate hotspot_precision;
  base::Estimate hotspot_overlap;
  base::Estimate block_recall;  // mean share of the worst blocks that were inspected
};

// Cluster bootstrap over groups; see stats/bootstrap.h for few groups.
MapQuality Summarise(std::span<const MapScore> scores, const QualityOptions& options);

// The same figures on a part of the maps. Within a dimension the slice with the largest
// relative MAE comes first. Dimensions: "source", "group", "drop tercile" (maps ranked
// by largest label, cut in three; only with three maps or more).
struct SliceQuality {
  std::string dimension;
  std::string value;   // "synthetic", "f012", "high"
  std::string detail;  // "largest label 12.1 to 33.0 mV" for terciles
  MapQuality quality;
};
std::vector<SliceQuality> SliceQualities(std::span<const MapScore> scores,
                                         const QualityOptions& options);

}  // namespace stepslack::quality

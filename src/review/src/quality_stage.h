// What the predictions of the trained models are worth on maps they never saw, beside
// the baselines and beside what a careless split would have claimed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "data_stages.h"
#include "stage_runner.h"
#include "stepslack/quality/map_quality.h"
#include "train_stages.h"

namespace stepslack::review {

// A test map with everything a reader wants to look at, in the resolution of the tiles.
struct ExampleMap {
  std::string id;
  std::string group;
  int64_t height = 0, width = 0;
  std::string input_name, input_unit;
  std::vector<float> input, target, prediction;
  double relative_mae = 0;
};

struct SeedQuality {
  uint64_t seed = 0;
  std::string fold;
  quality::MapQuality quality;
};

struct QualityResults {
  quality::MapQuality model;             // all folds and seeds; n counts test groups
  quality::MapQuality constant, linear;  // the same test maps
  base::Estimate vs_linear;              // sum |error| of the model over that of linear
  std::vector<SeedQuality> seeds;
  base::Estimate seed_spread;  // coefficient of variation of relative MAE
  std::vector<quality::SliceQuality> slices;

  quality::MapQuality naive;  // careless split, its own test maps
  std::optional<quality::MapQuality> naive_leaked, naive_clean;
  int64_t naive_leaked_maps = 0, naive_clean_maps = 0;
  base::Estimate optimism;  // (honest - careless) / honest relative MAE

  std::optional<base::Estimate> coverage_90;
  std::string coverage_note;

  std::vector<ExampleMap> examples;  // best, middle and worst test map of fold 0
};

base::Result<QualityResults> MeasureQuality(StageRunner& runner,
                                            const ReviewConfig& config,
                                            const DataStages& data,
                                            const TrainStages& runs);

}  // namespace stepslack::review

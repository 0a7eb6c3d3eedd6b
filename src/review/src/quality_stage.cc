#include "quality_stage.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "stepslack/base/file.h"
#include "stepslack/quality/baselines.h"
#include "stepslack/quality/calibration.h"
#include "stepslack/record/array_file.h"
#include "stepslack/stats/bootstrap.h"

namespace stepslack::review {
namespace {

using quality::MapScore;

// Predictions of whole maps with the labels they are judged by.
struct PredictedMap {
  int64_t map = 0;  // position in the collection
  data::WholeMap truth;
  std::vector<float> prediction;
};

class Scorer {
 public:
  Scorer(const ReviewConfig& config, const DataStages& data)
      : config_(config), data_(data) {
    options_.target_unit = data.maps.target_unit;
    options_.bootstrap.n_of = config.data.source == "embedded" ? "families" : "designs";
  }
  const quality::QualityOptions& options() const { return options_; }

  // Tiles of the given maps out of predictions [k,tile,tile] for `indices`.
  base::Result<std::vector<PredictedMap>> Assemble(
      const std::vector<int64_t>& maps, const std::vector<int64_t>& indices,
      std::span<const float> values) const {
    const std::set<int64_t> wanted(maps.begin(), maps.end());
    const auto area = static_cast<size_t>(data_.tiles.tile * data_.tiles.tile);
    std::vector<int64_t> kept;
    std::vector<float> kept_values;
    for (size_t i = 0; i < indices.size(); ++i) {
      const int64_t map = data_.tiles.tiles[static_cast<size_t>(indices[i])].map;
      if (!wanted.contains(map)) continue;
      kept.push_back(indices[i]);
      const auto begin = values.begin() + static_cast<std::ptrdiff_t>(i * area);
      kept_values.insert(kept_values.end(), begin,
                         begin + static_cast<std::ptrdiff_t>(area));
    }
    SS_TRY(auto stitched, data::Stitch(data_.tiles, kept, kept_values));
    std::vector<PredictedMap> out;
    for (data::StitchedMap& map : stitched) {
      out.push_back(
          {.map = map.map,
           .truth = data::Downscale(data_.maps.maps[static_cast<size_t>(map.map)],
                                    data_.maps.channels, config_.data.downscale),
           .prediction = std::move(map.values)});
    }
    return out;
  }

  base::Result<std::vector<MapScore>> Score(
      const std::vector<PredictedMap>& maps) const {
    return quality::ScoreMaps(Views(maps), options_);
  }

  static std::vector<quality::MapView> Views(const std::vector<PredictedMap>& maps) {
    std::vector<quality::MapView> views;
    for (const PredictedMap& map : maps) {
      views.push_back({.id = map.truth.id,
                       .group = map.truth.group,
                       .source = map.truth.source,
                       .height = map.truth.height,
                       .width = map.truth.width,
                       .target = map.truth.target,
                       .prediction = map.prediction});
    }
    return views;
  }

  quality::MapQuality Summary(const std::vector<MapScore>& scores) const {
    return quality::Summarise(scores, options_);
  }

 private:
  const ReviewConfig& config_;
  const DataStages& data_;
  quality::QualityOptions options_;
};

base::Result<std::vector<PredictedMap>> ReadPredictions(
    const Scorer& scorer, const DataStages& data, const record::RunRecord& run,
    const std::vector<int64_t>& maps) {
  const std::string path = base::JoinPath(run.folder, "predictions.npz");
  SS_TRY(const auto arrays, record::ReadNpz(path));
  const auto prediction = arrays.find("prediction");
  const auto index = arrays.find("index");
  const int64_t area = data.tiles.tile * data.tiles.tile;
  if (prediction == arrays.end() || index == arrays.end() ||
      prediction->second.size() != index->second.size() * area) {
    return base::Fail("REV-0005", base::ExitCode::kIntegrity,
                      "predictions do not have the expected arrays", path,
                      "remove the run's folder and run again");
  }
  std::vector<int64_t> indices;
  for (const float value : index->second.values) {
    indices.push_back(static_cast<int64_t>(std::lround(value)));
    if (indices.back() < 0 || indices.back() >= data.tiles.size()) {
      return base::Fail("REV-0006", base::ExitCode::kIntegrity,
                        "predictions name a tile that does not exist", path,
                        "remove the run's folder and run again");
    }
  }
  return scorer.Assemble(maps, indices, prediction->second.values);
}

void Append(std::vector<MapScore>& to, std::vector<MapScore> from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()),
            std::make_move_iterator(from.end()));
}

struct BaselineScores {
  std::vector<MapScore> constant, linear;
};

template <typename Baseline>
base::Status ScoreBaseline(const Scorer& scorer, const quality::TileArrays& tiles,
                           const std::vector<int64_t>& train,
                           const std::vector<int64_t>& test,
                           const std::vector<int64_t>& maps,
                           std::vector<MapScore>& out) {
  SS_TRY(const Baseline baseline, Baseline::Fit(tiles, train, {}));
  SS_TRY(const std::vector<float> predicted, baseline.Predict(tiles, test));
  SS_TRY(const auto assembled, scorer.Assemble(maps, test, predicted));
  SS_TRY(auto scores, scorer.Score(assembled));
  Append(out, std::move(scores));
  return {};
}

base::Result<BaselineScores> ScoreBaselines(const Scorer& scorer,
                                            const DataStages& data) {
  const quality::TileArrays tiles{.x = data.tiles.x,
                                  .y = data.tiles.y,
                                  .n = data.tiles.size(),
                                  .height = data.tiles.tile,
                                  .width = data.tiles.tile,
                                  .channels = data.tiles.channels};
  BaselineScores out;
  for (const data::Fold& fold : data.split.folds) {
    const auto train = data::TilesOfMaps(data.tiles, fold.train);
    const auto test = data::TilesOfMaps(data.tiles, fold.test);
    SS_RETURN_IF_ERROR(ScoreBaseline<quality::ConstantBaseline>(
        scorer, tiles, train, test, fold.test, out.constant));
    SS_RETURN_IF_ERROR(ScoreBaseline<quality::LinearBaseline>(
        scorer, tiles, train, test, fold.test, out.linear));
  }
  return out;
}

// Sum of |error| of the model over that of the linear baseline, by group; the model has
// one score per seed, so its sums are divided by how often a map was scored.
base::Estimate AgainstLinear(const std::vector<MapScore>& model,
                             const std::vector<MapScore>& linear,
                             const quality::QualityOptions& options) {
  std::map<std::string, double> times;
  for (const MapScore& score : model) times[score.id] += 1;
  std::map<std::string, stats::ClusterSums> groups;
  for (const MapScore& score : model) {
    groups[score.group].numerator += score.absolute_error / times[score.id];
  }
  for (const MapScore& score : linear) {
    groups[score.group].denominator += score.absolute_error;
  }
  std::vector<stats::ClusterSums> clusters;
  for (const auto& [name, sums] : groups) clusters.push_back(sums);
  stats::BootstrapOptions bootstrap = options.bootstrap;
  bootstrap.unit = "1";
  return stats::ClusterRatio(clusters, bootstrap);
}

base::Estimate SeedSpread(const std::vector<SeedQuality>& seeds) {
  std::vector<double> values;
  const std::string first = seeds.empty() ? "" : seeds.front().fold;
  for (const SeedQuality& seed : seeds) {
    if (seed.fold == first && seed.quality.relative_mae.value) {
      values.push_back(*seed.quality.relative_mae.value);
    }
  }
  const auto n = static_cast<double>(values.size());
  double mean = 0;
  for (const double value : values) mean += value / n;
  double sum = 0;
  for (const double value : values) sum += (value - mean) * (value - mean);
  base::Estimate spread{.value = std::nullopt,
                        .low = std::nullopt,
                        .high = std::nullopt,
                        .unit = "1",
                        .confidence = 0.95,
                        .n = static_cast<int64_t>(values.size()),
                        .n_of = "seeds",
                        .method = "standard deviation over mean of relative MAE"};
  if (n >= 2 && mean > 0) spread.value = std::sqrt(sum / (n - 1)) / mean;
  return spread;
}

void KeepExamples(const DataStages& data, const std::vector<PredictedMap>& maps,
                  const std::vector<MapScore>& scores, QualityResults& out) {
  std::vector<size_t> order(maps.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto error = [&](size_t i) {
    return scores[i].absolute_error / std::max(scores[i].absolute_target, 1e-30);
  };
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return error(a) < error(b); });
  std::set<size_t> chosen;
  for (const size_t place : {size_t{0}, order.size() / 2, order.size() - 1}) {
    if (order.empty() || !chosen.insert(order[place]).second) continue;
    const PredictedMap& map = maps[order[place]];
    out.examples.push_back({.id = map.truth.id,
                            .group = map.truth.group,
                            .height = map.truth.height,
                            .width = map.truth.width,
                            .input_name = data.maps.channels.front().name,
                            .input_unit = data.maps.channels.front().unit,
                            .input = map.truth.channels.front(),
                            .target = map.truth.target,
                            .prediction = map.prediction,
                            .relative_mae = error(order[place])});
  }
}

base::Status MeasureHonest(const Scorer& scorer, const DataStages& data,
                           const TrainStages& runs, QualityResults& out) {
  std::vector<MapScore> all;
  for (const FoldRun& run : runs.honest) {
    const data::Fold& fold = data.split.folds[run.fold];
    SS_TRY(const auto maps, ReadPredictions(scorer, data, run.run, fold.test));
    SS_TRY(auto scores, scorer.Score(maps));
    if (out.seeds.empty()) KeepExamples(data, maps, scores, out);
    out.seeds.push_back(
        {.seed = run.seed, .fold = fold.name, .quality = scorer.Summary(scores)});
    Append(all, std::move(scores));
  }
  out.model = scorer.Summary(all);
  out.slices = quality::SliceQualities(all, scorer.options());
  out.seed_spread = SeedSpread(out.seeds);
  SS_TRY(const BaselineScores baselines, ScoreBaselines(scorer, data));
  out.constant = scorer.Summary(baselines.constant);
  out.linear = scorer.Summary(baselines.linear);
  out.vs_linear = AgainstLinear(all, baselines.linear, scorer.options());
  return {};
}

// Intervals calibrated on validation groups; do they hold on groups nobody has seen?
base::Status MeasureCoverage(const Scorer& scorer, const DataStages& data,
                             const TrainStages& runs, QualityResults& out) {
  const FoldRun& run = runs.honest.front();
  const data::Fold& fold = data.split.folds[run.fold];
  SS_TRY(const auto validation,
         ReadPredictions(scorer, data, run.run, fold.validation));
  SS_TRY(const auto test, ReadPredictions(scorer, data, run.run, fold.test));
  quality::CalibrationOptions options;
  options.target_unit = data.maps.target_unit;
  options.bootstrap = scorer.options().bootstrap;
  auto calibration =
      quality::Calibrate(Scorer::Views(validation), Scorer::Views(test), options);
  if (!calibration) {
    out.coverage_note = base::Describe(calibration.error());
    return {};
  }
  out.coverage_90 = calibration->coverage;
  out.coverage_note = fmt::format(
      "prediction +- {:.3g} x the map's mean prediction (first run), calibrated on {} "
      "validation {}{}",
      calibration->half_width_factor, calibration->calibration_groups,
      scorer.options().bootstrap.n_of,
      calibration->guaranteed ? "" : ": too few for a guarantee");
  return {};
}

base::Status MeasureNaive(const Scorer& scorer, const DataStages& data,
                          const TrainStages& runs, QualityResults& out) {
  std::vector<MapScore> leaked;
  std::vector<MapScore> clean;
  for (const FoldRun& run : runs.naive) {
    const data::Fold& fold = data.naive.folds[run.fold];
    const data::FoldAudit& audit = data.naive_audit.folds[run.fold];
    const std::set<int64_t> known(audit.leaked_test.begin(), audit.leaked_test.end());
    SS_TRY(const auto maps, ReadPredictions(scorer, data, run.run, fold.test));
    SS_TRY(const auto scores, scorer.Score(maps));
    for (size_t i = 0; i < scores.size(); ++i) {
      (known.contains(maps[i].map) ? leaked : clean).push_back(scores[i]);
    }
  }
  out.naive_leaked_maps = static_cast<int64_t>(leaked.size());
  out.naive_clean_maps = static_cast<int64_t>(clean.size());
  if (!leaked.empty()) out.naive_leaked = scorer.Summary(leaked);
  if (!clean.empty()) out.naive_clean = scorer.Summary(clean);
  Append(leaked, std::move(clean));
  out.naive = scorer.Summary(leaked);
  return {};
}

// How much of the honest error the careless split hides. The two are measured on other
// maps, so the interval takes the worst ends of both.
base::Estimate Optimism(const base::Estimate& honest, const base::Estimate& naive) {
  base::Estimate optimism = honest;
  optimism.method = "1 - careless / honest relative MAE; ends combined";
  optimism.value.reset();
  optimism.low.reset();
  optimism.high.reset();
  if (!honest.value || !naive.value || *honest.value <= 0) return optimism;
  optimism.value = 1 - *naive.value / *honest.value;
  if (honest.low && honest.high && naive.low && naive.high && *honest.low > 0) {
    optimism.low = 1 - *naive.high / *honest.low;
    optimism.high = 1 - *naive.low / *honest.high;
  }
  return optimism;
}

}  // namespace

base::Result<QualityResults> MeasureQuality(StageRunner& runner,
                                            const ReviewConfig& config,
                                            const DataStages& data,
                                            const TrainStages& runs) {
  const Scorer scorer(config, data);
  QualityResults out;
  SS_RETURN_IF_ERROR(MeasureHonest(scorer, data, runs, out));
  SS_RETURN_IF_ERROR(runner.CheckStop());
  SS_RETURN_IF_ERROR(MeasureCoverage(scorer, data, runs, out));
  SS_RETURN_IF_ERROR(MeasureNaive(scorer, data, runs, out));
  out.optimism = Optimism(out.model.relative_mae, out.naive.relative_mae);
  return out;
}

}  // namespace stepslack::review

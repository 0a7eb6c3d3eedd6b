#include "train_stages.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "stepslack/base/text.h"

namespace stepslack::review {
namespace {

using record::RunRecord;
using record::TrainPlan;

// Steps of a scaling run that are not measured: allocator, caches and thread pools
// settle.
constexpr int64_t kScaleWarmupSteps = 5;
constexpr int64_t kScaleValidationTiles = 4;

constexpr int64_t kTracedBeforeEvaluation = 10;

// What all runs of one review share.
class PlanMaker {
 public:
  PlanMaker(const ReviewConfig& config, const DataStages& data)
      : config_(config), data_(data) {}

  TrainPlan Make(const data::Fold& fold, uint64_t seed) const {
    const TrainConfig& train = config_.train;
    TrainPlan plan;
    plan.inputs_path = data_.inputs_path;
    plan.targets_path = data_.targets_path;
    plan.train_indices = data::TilesOfMaps(data_.tiles, fold.train);
    plan.validation_indices = data::TilesOfMaps(data_.tiles, fold.validation);
    // Validation maps are predicted as well: residuals there calibrate the intervals.
    std::vector<int64_t> predicted = fold.test;
    predicted.insert(predicted.end(), fold.validation.begin(), fold.validation.end());
    plan.test_indices = data::TilesOfMaps(data_.tiles, predicted);
    plan.augment_turns = config_.train.augment_turns;
    for (const auto& [channel, classes] : data::CategoricalChannels(data_.tiles)) {
      plan.categorical_channels.push_back(channel);
      plan.category_counts.push_back(classes);
    }
    plan.base_channels = train.base_channels;
    plan.levels = train.levels;
    plan.global_batch = train.global_batch;
    plan.samples = train.samples;
    plan.learning_rate = train.learning_rate;
    plan.weight_decay = train.weight_decay;
    plan.warmup_samples = std::min(train.warmup_samples, train.samples / 4);
    plan.seed = seed;
    plan.eval_every_samples = train.eval_every_samples;
    plan.target_relative_mae = train.target_relative_mae;
    plan.checkpoint_every_samples = train.eval_every_samples;
    // The traced window holds the first evaluation and checkpoint.
    plan.trace_first_step = std::max(
        plan.trace_first_step, FirstEvaluationStep(plan) - kTracedBeforeEvaluation);
    return plan;
  }

 private:
  const ReviewConfig& config_;
  const DataStages& data_;
};

// Executes runs with one progress line: which run, samples, latest validation metric.
class RunSeries {
 public:
  RunSeries(StageRunner& runner, const study::Launcher& launcher, size_t count)
      : runner_(runner), launcher_(launcher), count_(count) {}

  base::Result<RunRecord> Next(const std::string& label, const TrainPlan& plan,
                               int world_size, int repeat = 0) {
    SS_RETURN_IF_ERROR(runner_.CheckStop());
    const size_t index = done_++;
    const auto draw = [&](int64_t samples, double relative_mae) {
      std::string text = fmt::format("run {} of {} ({}), {} of {} samples", index + 1,
                                     count_, label, samples, plan.samples);
      if (std::isfinite(relative_mae)) {
        text += fmt::format(", validation relative MAE {}", base::Human(relative_mae));
      }
      const double part =
          static_cast<double>(samples) / static_cast<double>(plan.samples);
      runner_.context().progress->Update(
          text, (static_cast<double>(index) + part) / static_cast<double>(count_));
    };
    const study::RunRequest request{
        .label = label, .plan = plan, .world_size = world_size, .repeat = repeat};
    return study::Execute(launcher_, request, runner_.context(), draw);
  }

 private:
  StageRunner& runner_;
  const study::Launcher& launcher_;
  size_t count_;
  size_t done_ = 0;
};

base::Result<std::vector<FoldRun>> TrainFolds(RunSeries& series, const PlanMaker& maker,
                                              const data::Split& split,
                                              const std::vector<uint64_t>& seeds,
                                              const std::string& what, int ranks) {
  std::vector<FoldRun> runs;
  for (size_t fold = 0; fold < split.folds.size(); ++fold) {
    for (const uint64_t seed : seeds) {
      const TrainPlan plan = maker.Make(split.folds[fold], seed);
      const std::string label =
          fmt::format("{} {}, seed {}", what, split.folds[fold].name, seed);
      SS_TRY(RunRecord run, series.Next(label, plan, ranks));
      runs.push_back({.fold = fold, .seed = seed, .run = std::move(run)});
    }
  }
  return runs;
}

base::Status RunAugmentation(StageRunner& runner, const ReviewConfig& config,
                             const study::Launcher& launcher, const PlanMaker& maker,
                             const DataStages& data, TrainStages& out) {
  runner.Begin("augment");
  RunSeries series(runner, launcher, config.train.seeds.size());
  for (const uint64_t seed : config.train.seeds) {
    TrainPlan plan = maker.Make(data.split.folds.front(), seed);
    plan.augment = false;
    SS_TRY(RunRecord run, series.Next(fmt::format("no augmentation, seed {}", seed),
                                      plan, config.train.ranks));
    out.without_augmentation.push_back(
        {.fold = 0, .seed = seed, .run = std::move(run)});
  }
  runner.End(fmt::format("{} runs without augmentation", config.train.seeds.size()));
  return {};
}

// Short runs: learning rates, and the configured plan twice with one seed.
base::Status RunTune(StageRunner& runner, const ReviewConfig& config,
                     const study::Launcher& launcher, TrainStages& out) {
  runner.Begin("tune");
  TrainPlan base_plan = out.reference_plan;
  base_plan.samples = std::min(config.study.tune_samples, config.train.samples);
  base_plan.warmup_samples = std::min(base_plan.warmup_samples, base_plan.samples / 4);
  base_plan.target_relative_mae = 0;
  base_plan.trace_steps = 0;
  RunSeries series(runner, launcher, config.study.tune_learning_rates.size() + 2);
  const int ranks = config.train.ranks;
  for (const double rate : config.study.tune_learning_rates) {
    TrainPlan plan = base_plan;
    plan.learning_rate = rate;
    SS_TRY(
        RunRecord run,
        series.Next(fmt::format("learning rate {}", base::Human(rate)), plan, ranks));
    out.tune.push_back({.learning_rate = rate, .run = std::move(run)});
  }
  SS_TRY(out.repeat_a, series.Next("same seed, first time", base_plan, ranks, 0));
  SS_TRY(out.repeat_b, series.Next("same seed, second time", base_plan, ranks, 1));
  runner.End(fmt::format("{} learning rates, one seed twice", out.tune.size()));
  return {};
}

TrainPlan ScalePlan(const TrainPlan& reference, const ScaleRuns& group, int64_t steps) {
  TrainPlan plan = reference;
  plan.global_batch = group.global_batch;
  plan.samples = group.global_batch * (steps + kScaleWarmupSteps);
  plan.warmup_samples = plan.samples / 4;
  plan.synchronise = group.synchronise;
  plan.predict_test = false;
  plan.target_relative_mae = 0;
  plan.eval_every_samples = plan.samples;
  plan.checkpoint_every_samples = 0;
  plan.trace_steps = 0;
  if (plan.validation_indices.size() > kScaleValidationTiles) {
    plan.validation_indices.resize(kScaleValidationTiles);
  }
  return plan;
}

// Repeats outside, configurations inside: a slow moment of the machine hits all alike.
base::Status RunScale(StageRunner& runner, const ReviewConfig& config,
                      const study::Launcher& launcher, TrainStages& out) {
  runner.Begin("scale");
  const int ranks = std::max(2, config.train.ranks);
  const int64_t batch = config.study.scale_batch;
  const int64_t share = std::max<int64_t>(1, batch / ranks);
  out.scale = {{.world_size = 1, .global_batch = batch, .per_rank_batch = batch},
               {.world_size = ranks, .global_batch = batch, .per_rank_batch = share},
               {.world_size = ranks,
                .global_batch = batch,
                .per_rank_batch = share,
                .synchronise = false},
               {.world_size = ranks,
                .global_batch = batch * ranks,
                .per_rank_batch = batch,
                .weak = true}};
  const auto repeats = static_cast<size_t>(config.study.scale_repeats);
  RunSeries series(runner, launcher, repeats * out.scale.size());
  for (size_t repeat = 0; repeat < repeats; ++repeat) {
    for (ScaleRuns& group : out.scale) {
      const std::string label =
          fmt::format("{} rank{}, {}{}", group.world_size,
                      group.world_size > 1 ? "s" : "", group.weak ? "weak" : "strong",
                      group.synchronise ? "" : ", no communication");
      SS_TRY(RunRecord run,
             series.Next(label,
                         ScalePlan(out.reference_plan, group, config.study.scale_steps),
                         group.world_size, static_cast<int>(repeat)));
      group.runs.push_back(std::move(run));
    }
  }
  runner.End(fmt::format("{} interleaved repeats of {} configurations", repeats,
                         out.scale.size()));
  return {};
}

}  // namespace

int64_t FirstEvaluationStep(const record::TrainPlan& plan) {
  return (plan.eval_every_samples + plan.global_batch - 1) / plan.global_batch;
}

base::Result<TrainStages> RunTrainStages(StageRunner& runner,
                                         const ReviewConfig& config,
                                         const DataStages& data,
                                         const study::Launcher& launcher) {
  const PlanMaker maker(config, data);
  TrainStages out;
  out.reference_plan = maker.Make(data.split.folds.front(), config.train.seeds.front());

  runner.Begin("seeds");
  const size_t naive_count = data.naive.folds.size();
  const size_t honest_count = data.split.folds.size() * config.train.seeds.size();
  RunSeries series(runner, launcher, honest_count + naive_count);
  SS_TRY(out.honest, TrainFolds(series, maker, data.split, config.train.seeds, "split",
                                config.train.ranks));
  SS_TRY(out.naive, TrainFolds(series, maker, data.naive, {config.train.seeds.front()},
                               "careless split", config.train.ranks));
  runner.End(fmt::format("{} runs on the honest split, {} on the careless one",
                         honest_count, naive_count));

  SS_RETURN_IF_ERROR(RunAugmentation(runner, config, launcher, maker, data, out));
  SS_RETURN_IF_ERROR(RunTune(runner, config, launcher, out));
  SS_RETURN_IF_ERROR(RunScale(runner, config, launcher, out));
  return out;
}

}  // namespace stepslack::review

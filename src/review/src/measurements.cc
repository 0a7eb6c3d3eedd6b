#include "measurements.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "stepslack/base/file.h"
#include "stepslack/stats/intervals.h"
#include "stepslack/trace/kineto_reader.h"

namespace stepslack::review {
namespace {

constexpr int kSolverRepeats = 9;
// A change of relative MAE below this does not matter to the decision.
constexpr double kAugmentationMargin = 0.01;

std::vector<analyze::LabelledRun> Labelled(const std::vector<FoldRun>& runs,
                                           const data::Split& split) {
  std::vector<analyze::LabelledRun> labelled;
  for (const FoldRun& run : runs) {
    std::string label = fmt::format("seed {}", run.seed);
    if (split.folds.size() > 1) label += ", " + split.folds[run.fold].name;
    labelled.push_back({.label = std::move(label), .run = &run.run});
  }
  return labelled;
}

std::vector<trace::EventStore> ReadTraces(const record::RunRecord& run,
                                          std::vector<std::string>& problems) {
  std::vector<trace::EventStore> traces;
  for (int rank = 0; rank < run.summary.world_size; ++rank) {
    const std::string path =
        base::JoinPath(run.folder, fmt::format("trace.rank{}.json.gz", rank));
    auto store = trace::ReadKinetoTrace(path, {.rank = rank});
    if (store) {
      traces.push_back(std::move(*store));
    } else {
      problems.push_back(base::Describe(store.error()));
    }
  }
  return traces;
}

void ProfileRuns(const std::vector<FoldRun>& runs, const record::TrainPlan& plan,
                 Measurements& out) {
  std::vector<std::vector<trace::EventStore>> traces;
  for (const FoldRun& run : runs) {
    traces.push_back(ReadTraces(run.run, out.trace_problems));
  }
  std::vector<analyze::RunEvidence> evidence;
  for (size_t i = 0; i < runs.size(); ++i) {
    evidence.push_back({.run = &runs[i].run, .traces = traces[i]});
  }
  out.profile = analyze::ProfileComms(evidence);
  // The steps around the first evaluation show every phase, checkpoint included.
  out.timeline = analyze::BuildTimeline(
      traces.front(), {.first_step = FirstEvaluationStep(plan) - 1, .step_count = 4});
  if (out.timeline.ranks.empty()) out.timeline = analyze::BuildTimeline(traces.front());
  if (out.timeline.ranks.empty()) {
    out.timeline = analyze::BuildTimelineFromSteps(runs.front().run);
  }
}

base::Status MeasureScaling(const TrainStages& runs, Measurements& out) {
  std::vector<analyze::ScalingGroup> groups;
  for (const ScaleRuns& scale : runs.scale) {
    analyze::ScalingGroup group{.world_size = scale.world_size,
                                .per_rank_batch = scale.per_rank_batch,
                                .rule = scale.weak ? analyze::ScalingRule::kWeak
                                                   : analyze::ScalingRule::kStrong,
                                .synchronise = scale.synchronise,
                                .runs = {}};
    for (const record::RunRecord& run : scale.runs) group.runs.push_back(&run);
    groups.push_back(std::move(group));
  }
  SS_TRY(out.scaling, analyze::ComputeScaling(groups, {.warmup_steps = 5}));
  return {};
}

// Validation decides, so that the test maps stay untouched by any choice.
double FinalValidation(const record::RunRecord& run) {
  return run.evals.empty() ? std::nan("") : run.evals.back().relative_mae;
}

void MeasureAugmentation(const TrainStages& runs, Measurements& out) {
  analyze::EffectInput input;
  input.option = runs.reference_plan.augment_turns
                     ? "augmentation (flips and quarter turns)"
                     : "augmentation (flips of both axes)";
  input.metric = "relative MAE on validation families";
  input.margin = kAugmentationMargin;
  for (const FoldRun& off : runs.without_augmentation) {
    for (const FoldRun& on : runs.honest) {
      if (on.fold != off.fold || on.seed != off.seed) continue;
      input.labels.push_back(fmt::format("seed {}", on.seed));
      input.on.push_back(FinalValidation(on.run));
      input.off.push_back(FinalValidation(off.run));
    }
  }
  auto effect = analyze::ComputeEffect(input);
  if (effect) {
    out.augmentation = std::move(*effect);
  } else {
    out.augmentation_problem = base::Describe(effect.error());
  }
}

void MeasureTrials(const TrainStages& runs, Measurements& out) {
  std::vector<analyze::Trial> trials;
  for (const TuneRun& run : runs.tune) {
    analyze::Trial trial;
    trial.id = fmt::format("lr {:g}", run.learning_rate);
    trial.parameters["learning_rate"] = fmt::format("{:g}", run.learning_rate);
    trial.parameters["samples"] = std::to_string(run.run.summary.samples);
    trial.seconds = run.run.summary.train_seconds;
    const double value = FinalValidation(run.run);
    if (std::isfinite(value)) {
      trial.values.push_back(value);
    } else {
      trial.failure = "no finite validation metric";
    }
    trials.push_back(std::move(trial));
  }
  std::vector<double> finals;
  for (const FoldRun& run : runs.honest) {
    if (run.fold == 0) finals.push_back(FinalValidation(run.run));
  }
  double mean = 0;
  for (const double value : finals) mean += value / static_cast<double>(finals.size());
  double sum = 0;
  for (const double value : finals) sum += (value - mean) * (value - mean);
  std::optional<double> deviation;
  if (finals.size() > 1) {
    deviation = std::sqrt(sum / static_cast<double>(finals.size() - 1));
  }
  out.trials = analyze::TabulateTrials(std::move(trials), "validation relative MAE",
                                       "1", base::Direction::kAtMost, deviation);
}

base::Status MeasureLatency(const ReviewConfig& config, const DataStages& data,
                            const TrainStages& runs, Measurements& out) {
  std::vector<double> wall;
  std::vector<double> cpu;
  for (const FoldRun& run : runs.honest) {
    wall.push_back(1e3 * run.run.summary.inference_seconds_per_map);
    cpu.push_back(1e3 * run.run.summary.inference_cpu_seconds_per_map);
  }
  out.latency.model_ms = stats::GeometricMeanInterval(wall, "ms", "runs");
  out.latency.model_cpu_ms = stats::GeometricMeanInterval(cpu, "ms", "runs");
  if (!data.generator) return {};
  std::vector<double> solver_wall;
  std::vector<double> solver_cpu;
  for (int i = 0; i < kSolverRepeats; ++i) {
    const int family =
        i * std::max(1, config.data.families / kSolverRepeats) % config.data.families;
    SS_TRY(const eda::SolveStats solve,
           eda::TimeExactSolve(*data.generator, family, 0));
    solver_wall.push_back(static_cast<double>(solve.wall_ns) * 1e-6);
    solver_cpu.push_back(static_cast<double>(solve.cpu_ns) * 1e-6);
  }
  out.latency.solver_ms = stats::GeometricMeanInterval(solver_wall, "ms", "maps");
  out.latency.solver_cpu_ms = stats::GeometricMeanInterval(solver_cpu, "ms", "maps");
  out.latency.ratio = stats::LogRatioInterval(wall, solver_wall, "runs and maps");
  return {};
}

}  // namespace

const analyze::ScalingPoint* FindPoint(const analyze::ScalingReport& report,
                                       analyze::ScalingRule rule) {
  for (const analyze::ScalingPoint& point : report.points) {
    if (point.rule == rule && point.world_size > 1) return &point;
  }
  return nullptr;
}

base::Result<Measurements> Measure(StageRunner& runner, const ReviewConfig& config,
                                   const DataStages& data, const TrainStages& runs) {
  runner.Begin("profile");
  Measurements out;
  SS_TRY(out.quality, MeasureQuality(runner, config, data, runs));
  ProfileRuns(runs.honest, runs.reference_plan, out);
  SS_RETURN_IF_ERROR(MeasureScaling(runs, out));
  const auto labelled = Labelled(runs.honest, data.split);
  out.time_to_accuracy = analyze::ComputeTimeToAccuracy(
      labelled, config.train.target_relative_mae, "validation relative MAE");
  out.overfit = analyze::ComputeOverfit(labelled);
  out.reproducibility = analyze::CompareRuns(runs.repeat_a, runs.repeat_b);
  MeasureAugmentation(runs, out);
  MeasureTrials(runs, out);
  SS_RETURN_IF_ERROR(MeasureLatency(config, data, runs, out));
  runner.End(fmt::format("{} traced rank-steps, {} collectives matched",
                         out.profile.traced_steps, out.profile.matching.matched));
  return out;
}

}  // namespace stepslack::review

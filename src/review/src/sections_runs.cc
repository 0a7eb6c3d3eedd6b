#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "sections.h"
#include "stepslack/base/text.h"

namespace stepslack::review {
namespace {

using base::Human;

double Ms(int64_t ns) { return static_cast<double>(ns) * 1e-6; }

render::Series EvalSeries(std::string name, const record::RunRecord& run,
                          bool by_seconds) {
  render::Series series{.name = std::move(name)};
  for (const record::EvalRecord& eval : run.evals) {
    series.x.push_back(by_seconds ? eval.train_seconds
                                  : static_cast<double>(eval.samples_total));
    series.y.push_back(eval.relative_mae);
  }
  return series;
}

// Training loss by samples, averaged so that a chart of a long run stays small.
render::Series LossSeries(std::string name, const record::RunRecord& run) {
  render::Series series{.name = std::move(name), .dashed = true, .points = false};
  if (run.steps.empty()) return series;
  const auto& steps = run.steps.front();
  const size_t stride = std::max<size_t>(1, steps.size() / 60);
  for (size_t begin = 0; begin < steps.size(); begin += stride) {
    const size_t end = std::min(steps.size(), begin + stride);
    double sum = 0;
    for (size_t i = begin; i < end; ++i) sum += steps[i].loss;
    series.x.push_back(static_cast<double>(steps[end - 1].samples_total));
    series.y.push_back(sum / static_cast<double>(end - begin));
  }
  return series;
}

void AddPoint(render::Series& series, double x, const base::Estimate& estimate) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  series.x.push_back(x);
  series.y.push_back(estimate.value.value_or(nan));
  series.low.push_back(estimate.low.value_or(nan));
  series.high.push_back(estimate.high.value_or(nan));
}

render::LineChart EfficiencyChart(const analyze::ScalingReport& scaling) {
  render::LineChart chart{.title = "Scaling efficiency",
                          .caption =
                              "Throughput per rank against one rank; ideal is 1. "
                              "Whiskers: 95 % interval over interleaved repeats.",
                          .x_label = "ranks",
                          .y_label = "efficiency",
                          .log2_x = true};
  for (const auto rule : {analyze::ScalingRule::kStrong, analyze::ScalingRule::kWeak}) {
    const analyze::ScalingPoint* point = FindPoint(scaling, rule);
    if (point == nullptr) continue;
    render::Series series{
        .name = fmt::format("{}, {} samples a rank", analyze::ToString(rule),
                            point->per_rank_batch),
        .dashed = rule == analyze::ScalingRule::kWeak};
    AddPoint(series, 1, base::Exact(1, "1", 1, "definition", "by definition"));
    AddPoint(series, point->world_size, point->hardware);
    chart.series.push_back(std::move(series));
  }
  chart.references.push_back({.name = "ideal", .y = 1});
  return chart;
}

render::BarChart LossChart(const analyze::ScalingReport& scaling) {
  render::BarChart chart{
      .title = "Where the efficiency goes",
      .caption = "Percentage points lost against one rank; parts add up to the whole.",
      .x_label = "percentage points",
      .part_names = {"compute slower", "exposed communication", "data", "other"},
      .bars = {}};
  for (const analyze::ScalingPoint& point : scaling.points) {
    if (point.world_size == 1) continue;
    const auto part = [](const base::Estimate& e) { return e.value.value_or(0); };
    chart.bars.push_back(
        {.label = fmt::format("{} ranks, {}", point.world_size,
                              analyze::ToString(point.rule)),
         .parts = {part(point.loss.compute), part(point.loss.exposed_comm),
                   part(point.loss.data), part(point.loss.other)}});
  }
  return chart;
}

}  // namespace

render::Section AugmentationSection(const SectionInputs& in) {
  render::Section section{.id = "augmentation", .title = "Augmentation effect"};
  if (!in.measured.augmentation) {
    section.text.push_back("No effect could be measured: " +
                           in.measured.augmentation_problem);
    return section;
  }
  const analyze::Effect& effect = *in.measured.augmentation;
  section.text.push_back(fmt::format(
      "{}: {}. {} with it minus without it: {}{}. Judged on validation so that the "
      "test "
      "maps stay untouched.",
      effect.input.option, analyze::ToString(effect.verdict), effect.input.metric,
      Short(effect.difference),
      effect.p ? fmt::format(", sign-flip p = {} ({} smallest possible with {} pairs)",
                             Human(*effect.p), Human(effect.smallest_p),
                             effect.input.on.size())
               : std::string()));
  section.text.push_back(effect.reason);
  render::BarChart chart{.title = "With and without augmentation, per seed",
                         .caption = "Lower is better.",
                         .x_label = effect.input.metric,
                         .part_names = {"relative MAE"},
                         .bars = {}};
  render::Table table{.title = "Per seed",
                      .columns = {"seed", "with", "without", "difference"},
                      .rows = {}};
  for (size_t i = 0; i < effect.input.on.size(); ++i) {
    const std::string& label = effect.input.labels[i];
    chart.bars.push_back({.label = label + ", with", .parts = {effect.input.on[i]}});
    chart.bars.push_back(
        {.label = label + ", without", .parts = {effect.input.off[i]}});
    table.rows.push_back({label, effect.input.on[i], effect.input.off[i],
                          effect.input.on[i] - effect.input.off[i]});
  }
  section.figures.emplace_back(std::move(chart));
  section.tables.push_back(std::move(table));
  return section;
}

render::Section HyperparameterSection(const SectionInputs& in) {
  const analyze::TrialTable& trials = in.measured.trials;
  render::Section section{.id = "hyperparameters", .title = "Hyperparameter tracker"};
  if (trials.rows.empty()) {
    section.text.push_back("No trial was configured under [tune].");
    return section;
  }
  section.text.push_back(fmt::format(
      "{} trials of {} samples each; best: {} with {} {}. {}", trials.rows.size(),
      in.runs.tune.front().run.summary.samples, trials.rows.front().trial.id,
      trials.metric, Short(trials.rows.front().metric), trials.caution));
  render::BarChart chart{.title = "Trials, best first",
                         .caption = "Lower is better; short runs, one seed.",
                         .x_label = trials.metric,
                         .part_names = {"relative MAE"},
                         .bars = {}};
  render::Table table{
      .title = "Trials",
      .columns = {"trial", "learning rate", "samples", "validation relative MAE",
                  "behind best", "separable from the best", "training s"},
      .rows = {}};
  for (const analyze::TrialRow& row : trials.rows) {
    if (row.metric.value) {
      chart.bars.push_back({.label = row.trial.id, .parts = {*row.metric.value}});
    }
    const auto value = [&](const char* key) {
      const auto found = row.trial.parameters.find(key);
      return found != row.trial.parameters.end() ? found->second : std::string("-");
    };
    table.rows.push_back(
        {row.trial.id, value("learning_rate"), value("samples"),
         row.finished ? render::Cell(row.metric) : render::Cell(row.trial.failure),
         row.behind_best,
         std::string(!row.within_noise   ? "seed noise unknown"
                     : *row.within_noise ? "no, within seed noise"
                                         : "yes"),
         row.trial.seconds});
  }
  section.figures.emplace_back(std::move(chart));
  section.tables.push_back(std::move(table));
  return section;
}

render::Section ScalingSection(const SectionInputs& in) {
  const analyze::ScalingReport& scaling = in.measured.scaling;
  render::Section section{.id = "scaling", .title = "Scaling efficiency"};
  for (const auto rule : {analyze::ScalingRule::kStrong, analyze::ScalingRule::kWeak}) {
    const analyze::ScalingPoint* point = FindPoint(scaling, rule);
    if (point == nullptr) continue;
    const std::string result =
        point->efficiency.value
            ? fmt::format("E = Es x Eh = {}; statistical Es {} ({}), hardware Eh {}",
                          Short(point->efficiency), Short(point->statistical),
                          point->statistical.method, Short(point->hardware))
            : fmt::format("hardware Eh = {}; statistical Es is not known ({})",
                          Short(point->hardware), point->statistical.method);
    section.text.push_back(fmt::format(
        "{} scaling, {} ranks, {} samples a rank: {}. Against the same ranks without "
        "communication: {}.",
        rule == analyze::ScalingRule::kStrong ? "Strong" : "Weak", point->world_size,
        point->per_rank_batch, result,
        point->versus_no_comm.value ? Short(point->versus_no_comm)
                                    : std::string("not measured")));
  }
  for (const std::string& remark : scaling.remarks) section.text.push_back(remark);
  section.figures.emplace_back(EfficiencyChart(scaling));
  section.figures.emplace_back(LossChart(scaling));
  render::Table table{.title = "Scaling points",
                      .columns = {"rule", "ranks", "samples a rank", "global batch",
                                  "throughput samples/s", "speedup", "Es", "Eh", "E",
                                  "against no communication", "load balance"},
                      .rows = {}};
  for (const analyze::ScalingPoint& point : scaling.points) {
    table.rows.push_back({std::string(analyze::ToString(point.rule)),
                          static_cast<double>(point.world_size),
                          static_cast<double>(point.per_rank_batch),
                          static_cast<double>(point.global_batch), point.throughput,
                          point.speedup, point.statistical, point.hardware,
                          point.efficiency, point.versus_no_comm, point.load_balance});
  }
  section.tables.push_back(std::move(table));
  return section;
}

render::Section CommsSection(const SectionInputs& in) {
  const analyze::CommsProfile& profile = in.measured.profile;
  render::Section section{.id = "comms-profile", .title = "Communication profile"};
  section.text.push_back(
      fmt::format("A rank waits for communication in {} of step time (step records). "
                  "In the traces {} "
                  "of step time is communication, {} of it hidden behind compute; "
                  "exposed wait {} and "
                  "exposed transfer {} of step time.",
                  Percent(profile.exposed_share), Percent(profile.comm_share),
                  Percent(profile.overlap_share), Percent(profile.exposed_wait_share),
                  Percent(profile.exposed_transfer_share)));
  section.text.push_back(
      fmt::format("Collectives matched over ranks: {} ({}); {} spans without a "
                  "partner. Load balance "
                  "{}; page faults per step {}.",
                  profile.matching.matched, profile.matching.reason,
                  profile.matching.unmatched_spans, Short(profile.load_balance),
                  Short(profile.faults_per_step)));
  for (const std::string& problem : in.measured.trace_problems) {
    section.text.push_back(problem);
  }
  render::BarChart chart{.title = "Step time by phase",
                         .caption = "Mean over ranks and steps after warm-up.",
                         .x_label = "share of step time",
                         .part_names = {"data", "forward", "backward",
                                        "exposed communication", "optimizer", "other"},
                         .bars = {}};
  const auto share = [](const base::Estimate& e) { return e.value.value_or(0); };
  chart.bars.push_back(
      {.label = fmt::format("{} ranks", profile.world_size),
       .parts = {share(profile.data_share), share(profile.forward_share),
                 share(profile.backward_share), share(profile.exposed_share),
                 share(profile.optimizer_share), share(profile.other_share)}});
  section.figures.emplace_back(std::move(chart));
  render::Table collectives{.title = "Collectives",
                            .columns = {"operation", "bytes", "count", "wait us",
                                        "transfer us", "bus bandwidth GB/s"},
                            .rows = {}};
  for (const analyze::CollectiveRow& row : profile.collectives) {
    collectives.rows.push_back({row.name, static_cast<double>(row.bytes),
                                static_cast<double>(row.count), row.wait_us,
                                row.transfer_us, row.bus_bandwidth});
  }
  render::Table ranks{.title = "Ranks",
                      .columns = {"rank", "steps", "forward ms", "backward ms",
                                  "exposed communication ms", "optimizer ms",
                                  "times last", "wait caused ms", "own wait ms"},
                      .rows = {}};
  for (const analyze::RankTotals& rank : profile.ranks) {
    ranks.rows.push_back({static_cast<double>(rank.rank),
                          static_cast<double>(rank.steps), Ms(rank.forward_ns),
                          Ms(rank.backward_ns), Ms(rank.exposed_comm_ns),
                          Ms(rank.optimizer_ns), static_cast<double>(rank.times_last),
                          Ms(rank.wait_caused_ns), Ms(rank.wait_ns)});
  }
  section.tables.push_back(std::move(ranks));
  section.tables.push_back(std::move(collectives));
  return section;
}

render::Section TimelineSection(const SectionInputs& in) {
  const analyze::Timeline& timeline = in.measured.timeline;
  render::Section section{.id = "timeline", .title = "Training timeline"};
  section.text.push_back(fmt::format(
      "Steps {} to {} of the first run, from {}: data batch, forward, backward, "
      "optimizer "
      "step, evaluation and checkpoint per rank, collectives on their own lane.{}",
      timeline.first_step, timeline.last_step, timeline.source,
      timeline.dropped_spans > 0
          ? fmt::format(" {} shortest spans left out.", timeline.dropped_spans)
          : std::string()));
  render::TimelineChart chart{.title = "Timeline",
                              .caption = "Milliseconds since the first step shown."};
  for (const analyze::TimelineRank& rank : timeline.ranks) {
    const auto lane = static_cast<int>(chart.lanes.size());
    chart.lanes.push_back(fmt::format("rank {}", rank.rank));
    for (const analyze::TimelineSpan& span : rank.phases) {
      chart.spans.push_back({.lane = lane,
                             .phase = std::string(analyze::ToString(span.phase)),
                             .start_ms = Ms(span.start_ns),
                             .end_ms = Ms(span.end_ns)});
    }
    if (rank.collectives.empty()) continue;
    chart.lanes.push_back(fmt::format("rank {} comm", rank.rank));
    for (const analyze::TimelineSpan& span : rank.collectives) {
      chart.spans.push_back({.lane = lane + 1,
                             .phase = "collective",
                             .start_ms = Ms(span.start_ns),
                             .end_ms = Ms(span.end_ns)});
    }
  }
  section.figures.emplace_back(std::move(chart));
  return section;
}

render::Section TimeToAccuracySection(const SectionInputs& in) {
  const analyze::TimeToAccuracy& tta = in.measured.time_to_accuracy;
  render::Section section{.id = "time-to-accuracy",
                          .title = "Loss and time to accuracy"};
  section.text.push_back(fmt::format(
      "{} of {} runs reached {} {}; time {}, at the evaluation that saw it (the one "
      "before "
      "was at {}). Samples to target {}. Evaluation takes {} of training time. {}",
      tta.reached, tta.runs.size(), tta.metric, Human(tta.target), Short(tta.seconds),
      Short(tta.seconds_before), Short(tta.samples), Percent(tta.evaluation_share),
      tta.seconds.method));
  render::LineChart quality{.title = "Validation error while training",
                            .caption = "Dashed line: target.",
                            .x_label = "training seconds",
                            .y_label = "relative MAE"};
  render::LineChart loss{.title = "Training loss",
                         .caption = "Mean over stretches of steps; augmented samples.",
                         .x_label = "samples",
                         .y_label = "loss"};
  for (const FoldRun& run : in.runs.honest) {
    if (run.fold != 0) continue;
    quality.series.push_back(
        EvalSeries(fmt::format("seed {}", run.seed), run.run, true));
    loss.series.push_back(LossSeries(fmt::format("seed {}", run.seed), run.run));
  }
  if (tta.target > 0) {
    quality.references.push_back({.name = "target", .y = tta.target});
    quality.target_low = 0;
    quality.target_high = tta.target;
  }
  section.figures.emplace_back(std::move(quality));
  section.figures.emplace_back(std::move(loss));
  render::Table table{
      .title = "Runs",
      .columns = {"run", "reached", "after s", "by s", "samples", "evaluation share"},
      .rows = {}};
  for (const analyze::TargetTime& run : tta.runs) {
    table.rows.push_back({run.label, std::string(run.reached ? "yes" : "no"),
                          run.seconds_low, run.seconds_high,
                          static_cast<double>(run.samples), run.evaluation_share});
  }
  section.tables.push_back(std::move(table));
  return section;
}

render::Section BeforeAfterSection(const SectionInputs& in) {
  render::Section section{.id = "before-after", .title = "Before and after"};
  const std::string verdict =
      in.measured.augmentation
          ? std::string(analyze::ToString(in.measured.augmentation->verdict))
          : std::string("not measured");
  section.text.push_back(fmt::format(
      "Before: the baseline run without augmentation. Change: augmentation on, same "
      "seed. "
      "Post-change regression: the remaining seeds. Shaded: the target region. Whether "
      "the "
      "change is a fix is judged over all seeds in the augmentation report: {}.",
      verdict));
  render::LineChart chart{.title = "Validation error over samples",
                          .caption = "Lower is better.",
                          .x_label = "samples",
                          .y_label = "relative MAE"};
  if (!in.runs.without_augmentation.empty()) {
    render::Series before = EvalSeries("before: baseline, no augmentation",
                                       in.runs.without_augmentation.front().run, false);
    before.dashed = true;
    chart.series.push_back(std::move(before));
  }
  for (const FoldRun& run : in.runs.honest) {
    if (run.fold != 0) continue;
    const bool first = chart.series.size() < 2;
    chart.series.push_back(
        EvalSeries(first ? "change: augmentation"
                         : fmt::format("post-change regression, seed {}", run.seed),
                   run.run, false));
  }
  if (in.config.train.target_relative_mae > 0) {
    chart.target_low = 0;
    chart.target_high = in.config.train.target_relative_mae;
  }
  section.figures.emplace_back(std::move(chart));
  return section;
}

render::Section TrainingLogSection(const SectionInputs& in) {
  render::Section section{.id = "training-log", .title = "Multi-node training log"};
  render::Table table{
      .title = "Runs",
      .columns = {"run", "ranks", "samples", "start-up s", "training s", "CPU s",
                  "samples/s", "final relative MAE", "restarts", "parameters digest"},
      .rows = {}};
  const auto add = [&](const std::string& name, const record::RunRecord& run) {
    const record::RunSummary& summary = run.summary;
    table.rows.push_back(
        {name, static_cast<double>(summary.world_size),
         static_cast<double>(summary.samples), summary.startup_seconds,
         summary.train_seconds, summary.cpu_seconds,
         static_cast<double>(summary.samples) / std::max(summary.train_seconds, 1e-9),
         run.evals.empty() ? render::Cell(std::string("-"))
                           : render::Cell(run.evals.back().relative_mae),
         static_cast<double>(summary.restarts),
         summary.parameters_sha256.substr(0, 12)});
  };
  for (const FoldRun& run : in.runs.honest) {
    add(fmt::format("{}, seed {}", in.data.split.folds[run.fold].name, run.seed),
        run.run);
  }
  for (const FoldRun& run : in.runs.naive) {
    add(fmt::format("careless {}", in.data.naive.folds[run.fold].name), run.run);
  }
  for (const FoldRun& run : in.runs.without_augmentation) {
    add(fmt::format("no augmentation, seed {}", run.seed), run.run);
  }
  for (const TuneRun& run : in.runs.tune) {
    add(fmt::format("learning rate {:g}", run.learning_rate), run.run);
  }
  add("same seed, first time", in.runs.repeat_a);
  add("same seed, second time", in.runs.repeat_b);
  for (const ScaleRuns& group : in.runs.scale) {
    for (size_t i = 0; i < group.runs.size(); ++i) {
      add(fmt::format("scaling: {}{}, repeat {}", group.weak ? "weak" : "strong",
                      group.synchronise ? "" : ", no communication", i + 1),
          group.runs[i]);
    }
  }
  double cpu = 0;
  for (const auto& row : table.rows) cpu += std::get<double>(row[5]);
  section.text.push_back(fmt::format("{} runs, {} of CPU time in all ranks together.",
                                     table.rows.size(), base::HumanDuration(cpu)));
  section.tables.push_back(std::move(table));
  return section;
}

}  // namespace stepslack::review

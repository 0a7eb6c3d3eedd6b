#include "sample_report.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "stepslack/base/random.h"

namespace stepslack::render {
namespace {

using base::Estimate;
using base::Requirement;
using base::Verdict;

constexpr std::string_view kDigest =
    "9f2b6c1d0e3a4857b6c9d8e7f60514233241506f7e8d9cab0123456789abcdef";

std::string DigestLike(int rotation) {
  std::string digest(kDigest);
  return digest.substr(static_cast<size_t>(rotation)) +
         digest.substr(0, static_cast<size_t>(rotation));
}

void AddRequirement(evidence::Review& review, Requirement requirement,
                    std::optional<Estimate> estimate, std::string artifact) {
  base::Slack slack = base::Evaluate(requirement, estimate);
  review.requirements.push_back(
      {std::move(requirement), std::move(estimate), slack, std::move(artifact)});
}

Estimate Interval(double value, double low, double high, std::string unit, int64_t n,
                  std::string of) {
  return {.value = value,
          .low = low,
          .high = high,
          .unit = std::move(unit),
          .confidence = 0.95,
          .n = n,
          .n_of = std::move(of),
          .method = "cluster bootstrap, 2000 resamples, seed 1"};
}

void AddRequirements(evidence::Review& review) {
  const auto most = base::Direction::kAtMost;
  const auto least = base::Direction::kAtLeast;
  AddRequirement(review,
                 {"rel_mae", "Relative MAE on unseen families", "quality.rel_mae", most,
                  0.27, "1", "ML platform lead"},
                 Interval(0.231, 0.214, 0.250, "1", 12, "families"), "predictions");
  AddRequirement(review,
                 {"hotspot_recall", "Hotspot recall at 10 % of area", "quality.recall",
                  least, 0.9, "1", "ML platform lead"},
                 Interval(0.885, 0.861, 0.912, "1", 12, "families"), "predictions");
  AddRequirement(review,
                 {"efficiency", "Parallel efficiency at 2 ranks, strong scaling",
                  "scaling.efficiency", least, 0.8, "1", "training infra owner"},
                 Interval(0.674, 0.651, 0.702, "1", 40, "steps"), "scaling chart");
  AddRequirement(review,
                 {"exposed", "Exposed communication share", "comm.exposed_share", most,
                  0.1, "1", "cluster engineer"},
                 Interval(0.062, 0.055, 0.071, "1", 40, "steps"), "comms profile");
  AddRequirement(review,
                 {"tta", "Time to relative MAE 0.27", "tta.seconds", most, 60, "s",
                  "training infra owner"},
                 Interval(41.5, 36.2, 48.0, "s", 3, "seeds"), "time to accuracy");
  AddRequirement(review,
                 {"leaks", "Leaked rows across the split", "split.leaked_rows", most, 0,
                  "rows", "ML platform lead"},
                 base::Exact(0, "rows", 1200, "rows", "exact hashes"), "split audit");
  AddRequirement(review,
                 {"latency", "Inference latency p95 for a map", "latency.p95_ms", most,
                  20, "ms", "deployment"},
                 std::nullopt, "");
  AddRequirement(
      review,
      {"energy", "Energy for a map", "energy.j", most, 2, "J", "cluster engineer"},
      Estimate{.value = {},
               .low = {},
               .high = {},
               .unit = "J",
               .confidence = 0.95,
               .n = 0,
               .n_of = "maps",
               .method = "no energy counter here"},
      "host facts");
}

void AddDiagnosis(evidence::Review& review) {
  diagnose::Diagnosis& diagnosis = review.diagnosis;
  diagnosis.layer = "runtime";
  diagnosis.reason =
      "data and model checks pass; two ranks lose 31 % of a step to the input pipeline "
      "of "
      "rank 1, which arrives last in 38 of 40 collectives";
  diagnosis.primary = "R03";
  diagnosis.regressed = true;
  diagnosis.path = {
      "Does the metric regress beyond its interval? yes: efficiency 0.674 [0.651, "
      "0.702] < 0.8",
      "Data or model drift? no: leaked rows 0 of 1200, seeds agree to the bit",
      "Runtime, hardware or mapping? runtime: rank 1 waits 12.4 ms for its data batch"};
  diagnosis.causes = {{.id = "R03",
                       .layer = "runtime",
                       .title = "input pipeline starves one rank",
                       .state = diagnose::CauseState::kSupported,
                       .explained_share = 0.83,
                       .evidence = {"phase.data_ms.rank1 = 12.4 [11.8, 13.1] > 2",
                                    "last arriver 38 of 40"},
                       .missing = {},
                       .competitors = {"H01"},
                       .discriminating_test = "swap the data shards of ranks 0 and 1",
                       .experiment = "20 steps with prefetch 4",
                       .fix = "prefetch depth 1 -> 4",
                       .owner = "training infra owner"},
                      {.id = "H01",
                       .layer = "hardware",
                       .title = "one core is slower",
                       .state = diagnose::CauseState::kUndecided,
                       .explained_share = 0,
                       .evidence = {},
                       .missing = {"host.core_frequency"},
                       .competitors = {"R03"},
                       .discriminating_test = "pin ranks the other way round",
                       .experiment = "swap cores",
                       .fix = "exclude the core",
                       .owner = "cluster engineer"},
                      {.id = "D01",
                       .layer = "data",
                       .title = "split leaks designs",
                       .state = diagnose::CauseState::kRefuted,
                       .explained_share = 0,
                       .evidence = {"split.leaked_rows_share = 0 <= 0.01"},
                       .missing = {},
                       .competitors = {},
                       .discriminating_test = "group split",
                       .experiment = "re-split",
                       .fix = "group split",
                       .owner = "ML platform lead"}};
  diagnosis.missing = {"host.core_frequency: record it with the run to decide H01"};
}

void AddChecks(evidence::Review& review) {
  review.checklist = {
      {"context", "Metric context includes workload, dataset slice and revision tags",
       Verdict::kMet, "4 of 4 tags are digests of content; slice: 12 unseen families",
       "review.json"},
      {"mechanism",
       "Mechanism explanation links model behaviour to the observed outcome",
       Verdict::kInconclusive, "R03 explains 83 % of the lost time; H01 is undecided",
       "diagnosis"},
      {"feasibility", "Hardware and runtime feasibility is profiled, not assumed",
       Verdict::kMet, "40 steps on 2 ranks traced, 0 events dropped", "comms profile"},
      {"rollback", "Owner and rollback path are documented before rollout",
       Verdict::kNotRun, "", ""}};
  review.prompts = {
      {"Which decision will this model output influence?",
       "The order in which blocks are repaired before the sign-off run.",
       "review.toml"},
      {"What is the first failing layer when the metric regresses?",
       "Runtime: the input pipeline of rank 1.", "diagnosis"},
      {"Which owner applies the smallest reversible fix?",
       "The training infra owner sets prefetch depth 4; one line of configuration.",
       "diagnosis"}};
  review.risks = {
      {"data leakage", 0.0, 7,
       "leaked rows of all rows, exact and flip-invariant hashes"},
      {"overfit drift", 0.184, 5, "gap of validation to training error, 3 seeds"},
      {"reproducibility gaps", std::nullopt, 4, "hardware counters were not recorded"}};
}

void AddDocuments(evidence::Review& review) {
  review.memo = {"scaling efficiency 0.674 [0.651, 0.702] against 0.8",
                 "strong scaling, 2 ranks, batch 16 for each rank",
                 "runtime",
                 "rank 1 waits for its data batch (R03)",
                 "hardware bottleneck (H01): undecided",
                 "core frequency of both ranks",
                 "prefetch depth 1 -> 4 (runtime)",
                 "efficiency to 0.87, quality unchanged",
                 "memory grows by 48 MB for each rank",
                 "multi-node training log, scaling chart, comms profile",
                 "training infra owner, cluster engineer, ML platform lead",
                 "bounded pilot"};
  review.decision_memo = {"efficiency 0.674 against 0.8",
                          "input pipeline starves rank 1", "prefetch depth 4",
                          "re-run of 40 steps on 2 ranks",
                          "training infra owner, cluster engineer, ML platform lead"};
  review.capsule = {"ai-vlsi/training-data-pipeline/distributed-training-basics/irdrop",
                    "12 unseen families, 64 x 64 maps",
                    "relative MAE 0.231 [0.214, 0.250], improving",
                    "runtime",
                    "training infra owner",
                    "scaling efficiency chart",
                    DigestLike(5),
                    "bounded pilot"};
  review.artifacts = {
      {"split audit", "artifacts/split-audit.json", DigestLike(7)},
      {"scaling efficiency chart", "artifacts/scaling.svg", DigestLike(5)},
      {"comms profile", "artifacts/comms.json", DigestLike(9)},
      {"multi-node training log", "artifacts/train.log", DigestLike(11)}};
}

LineChart LossChart() {
  base::Random random(7);
  LineChart chart{.title = "Validation error over samples, three seeds",
                  .caption = "The dashed line is the run without augmentation.",
                  .x_label = "samples seen",
                  .y_label = "relative MAE (1)",
                  .log2_x = false,
                  .log_y = true,
                  .series = {},
                  .references = {},
                  .target_low = {},
                  .target_high = {}};
  for (int seed = 1; seed <= 4; ++seed) {
    Series series{
        .name = seed == 4 ? "seed 1, no augmentation" : fmt::format("seed {}", seed),
        .x = {},
        .y = {},
        .low = {},
        .high = {},
        .steps = false,
        .dashed = seed == 4,
        .points = false};
    for (int i = 0; i < 400; ++i) {
      series.x.push_back(i * 50.0);
      const double floor = seed == 4 ? 0.3 : 0.2 + 0.01 * seed;
      series.y.push_back((floor + 0.8 * std::exp(-i / 60.0)) *
                         (1 + 0.03 * random.Normal()));
    }
    chart.series.push_back(series);
  }
  chart.references = {{"target 0.27", 0.27}};
  return chart;
}

LineChart BeforeAfterChart() {
  LineChart chart{
      .title = "Before and after the fix",
      .caption = "Efficiency over iterations; the fix lands at iteration 60.",
      .x_label = "iteration",
      .y_label = "parallel efficiency (1)",
      .log2_x = false,
      .log_y = false,
      .series = {},
      .references = {},
      .target_low = 0.8,
      .target_high = 0.95};
  base::Random random(3);
  Series before{.name = "baseline (failing)",
                .x = {},
                .y = {},
                .low = {},
                .high = {},
                .steps = false,
                .dashed = true,
                .points = true};
  Series after = before;
  after.name = "after the fix";
  after.dashed = false;
  for (int i = 0; i <= 60; i += 5) {
    before.x.push_back(i);
    before.y.push_back(0.67 + 0.02 * random.Normal());
    after.x.push_back(60 + i);
    after.y.push_back(0.86 + 0.015 * random.Normal());
  }
  chart.series = {before, after};
  return chart;
}

LineChart SurvivalChart() {
  return {.title = "Share of seeds that have not reached the target",
          .caption = "Kaplan-Meier; a seed that never reached it is censored.",
          .x_label = "time (s)",
          .y_label = "share (1)",
          .log2_x = false,
          .log_y = false,
          .series = {{.name = "1 rank",
                      .x = {0, 52, 58, 66, 80},
                      .y = {1, .67, .33, 0, 0},
                      .low = {},
                      .high = {},
                      .steps = true,
                      .dashed = false,
                      .points = true},
                     {.name = "2 ranks",
                      .x = {0, 36, 41, 48, 80},
                      .y = {1, .67, .33, 0, 0},
                      .low = {},
                      .high = {},
                      .steps = true,
                      .dashed = true,
                      .points = true}},
          .references = {},
          .target_low = {},
          .target_high = {}};
}

BarChart EffectChart() {
  return {.title = "Effect of augmentation on relative MAE",
          .caption = "Paired by seed; below zero is better.",
          .x_label = "change of relative MAE (1)",
          .part_names = {},
          .bars = {{"flips and rotations", {-0.031}, -0.045, -0.017},
                   {"current scaling", {-0.008}, -0.021, 0.006},
                   {"noise on stripe mask, which is a rather long name for a bar",
                    {0.012},
                    -0.002,
                    0.026}},
          .reference = {},
          .reference_name = ""};
}

Section SplitSection() {
  Section section{
      .id = "split-audit",
      .title = "Split audit",
      .text = {"No row of a test family occurs in training: 0 of 1200 rows leak "
               "by exact, per-channel and flip-invariant hashes.",
               "A random split of the same maps would have leaked 98 % of the "
               "test families and would have shown a relative MAE of 0.14."},
      .figures = {},
      .tables = {}};
  section.tables.push_back(
      {"Honest number beside the leaky one",
       {"split", "relative MAE", "families", "leaked rows"},
       {{std::string("by family (used)"),
         Interval(0.231, 0.214, 0.25, "1", 12, "families"), 12.0, 0.0},
        {std::string("random (leaky)"),
         Interval(0.141, 0.136, 0.147, "1", 12, "families"), 12.0, 1176.0}}});
  return section;
}

}  // namespace

LineChart SampleLineChart() {
  return {.title = "Scaling efficiency",
          .caption =
              "Strong scaling keeps the total batch; weak keeps the batch of a rank.",
          .x_label = "ranks",
          .y_label = "parallel efficiency (1)",
          .log2_x = true,
          .log_y = false,
          .series = {{.name = "strong, batch 32 in all",
                      .x = {1, 2, 4, 8, 16},
                      .y = {1, 0.674, 0.61, 0.48, 0.31},
                      .low = {1, 0.651, 0.58, 0.44, 0.27},
                      .high = {1, 0.702, 0.65, 0.52, 0.35},
                      .steps = false,
                      .dashed = false,
                      .points = true},
                     {.name = "weak, batch 16 a rank",
                      .x = {1, 2, 4, 8, 16},
                      .y = {1, 0.88, 0.84, 0.79, 0.74},
                      .low = {1, 0.86, 0.81, 0.76, 0.70},
                      .high = {1, 0.9, 0.87, 0.82, 0.78},
                      .steps = false,
                      .dashed = true,
                      .points = true}},
          .references = {{"ideal", 1.0}},
          .target_low = 0.8,
          .target_high = {}};
}

BarChart SampleStackedChart() {
  return {
      .title = "Where a step goes",
      .caption = "Median of 40 steps; the whisker is the interval of the whole step.",
      .x_label = "time of a step (ms)",
      .part_names = {"data batch", "forward", "backward", "exposed wait",
                     "exposed transfer", "optimizer step"},
      .bars = {{"rank 0", {1.2, 18.1, 36.5, 12.2, 1.6, 2.2}, 70.1, 74.0},
               {"rank 1", {12.4, 18.3, 36.9, 0.4, 1.7, 2.3}, 70.3, 73.8}},
      .reference = 58.0,
      .reference_name = "ideal step"};
}

TimelineChart SampleTimeline() {
  TimelineChart chart{
      .title = "Training timeline, 6 steps",
      .caption =
          "One lane for computation and one for communication of "
          "each rank.",
      .lanes = {"rank 0 compute", "rank 0 comm", "rank 1 compute", "rank 1 comm"},
      .spans = {}};
  for (int step = 0; step < 6; ++step) {
    for (int rank = 0; rank < 2; ++rank) {
      double at = step * 72.0;
      const auto add = [&](int lane, const char* phase, double ms) {
        chart.spans.push_back({2 * rank + lane, phase, at, at + ms});
        at += ms;
      };
      add(0, "data batch", rank == 0 ? 1.2 : 12.4);
      add(0, "forward", 18);
      for (int layer = 0; layer < 120; ++layer) add(0, "backward", 0.3);
      at -= 20;
      add(1, "all-reduce", 24);
      add(0, "optimizer step", 2.2);
    }
  }
  chart.spans.push_back({0, "eval/checkpoint", 432, 470});
  chart.spans.push_back({2, "eval/checkpoint", 432, 466});
  return chart;
}

MapChart SampleMaps() {
  MapChart chart{.title = "Static IR drop of one unseen family",
                 .caption = "Target and prediction share one colour scale.",
                 .images = {}};
  const std::array<const char*, 4> names = {"input current", "target", "prediction",
                                            "error"};
  base::Random random(11);
  for (size_t k = 0; k < names.size(); ++k) {
    MapImage image{.name = names[k],
                   .unit = k == 0 ? "mA" : "mV",
                   .height = 64,
                   .width = 64,
                   .values = {},
                   .diverging = k == 3,
                   .scale_low = {},
                   .scale_high = {}};
    for (int row = 0; row < 64; ++row) {
      for (int column = 0; column < 64; ++column) {
        const double d = std::hypot(row - 40, column - 22) / 18;
        const double drop = 38 * std::exp(-d * d) + 6 * std::sin(row / 9.0) + 8;
        const double error =
            2.2 * std::sin(column / 6.0) * std::exp(-d) + 0.3 * random.Normal();
        const double value = k == 0   ? (row / 8 + column / 8) % 3 * 0.7 + 0.2
                             : k == 1 ? drop
                             : k == 2 ? drop + error
                                      : error;
        image.values.push_back(static_cast<float>(value));
      }
    }
    if (k == 1 || k == 2) {
      image.scale_low = 0;
      image.scale_high = 55;
    }
    chart.images.push_back(std::move(image));
  }
  return chart;
}

evidence::Review SampleReview() {
  evidence::Review review;
  review.framing = {"IR-drop hotspot ordering, U-Net 64 x 64",
                    "ai-vlsi/training-data-pipeline/distributed-training-basics/irdrop",
                    "order blocks for IR-drop repair before the sign-off run",
                    "the sign-off run itself",
                    {{"training infra owner", "A. Ito"},
                     {"cluster engineer", "B. Roy"},
                     {"ML platform lead", "C. Diaz"}},
                    {"Set model.active to the previous digest in flow.toml",
                     "Re-run the nightly ordering", "Tell the block owners"},
                    "hotspot recall below 0.85 on two nights in a row"};
  review.tags = {DigestLike(0), DigestLike(1), DigestLike(2), DigestLike(3)};
  review.created_utc = "2026-11-30T15:20:41Z";
  AddRequirements(review);
  AddDiagnosis(review);
  review.decision = evidence::Decision::kBoundedPilot;
  review.decision_reasons = {
      "2 requirements could not be evaluated (latency, energy), so ship is refused",
      "efficiency is violated, and its cause R03 has a reversible fix",
      "hotspot recall is inconclusive: about 26 families in all would decide"};
  AddChecks(review);
  AddDocuments(review);
  return review;
}

Report SampleReport() {
  Report report{SampleReview(), {}};
  report.sections.push_back(SplitSection());
  report.sections.push_back({"augmentation",
                             "Augmentation effect report",
                             {"Flips and rotations lower the error by 0.031 [0.017, "
                              "0.045]; the other two do not "
                              "move it beyond their interval."},
                             {EffectChart(), LossChart()},
                             {}});
  report.sections.push_back({"scaling",
                             "Scaling efficiency",
                             {"Two ranks reach 0.674 [0.651, 0.702] of ideal strong "
                              "scaling; the target of 0.8 is missed."},
                             {SampleLineChart(), BeforeAfterChart(), SurvivalChart()},
                             {}});
  report.sections.push_back(
      {"profile",
       "Communication profile and timeline",
       {"Rank 1 arrives last in 38 of 40 collectives: its data batch "
        "takes 12.4 ms, rank 0 waits as long."},
       {SampleStackedChart(), SampleTimeline()},
       {}});
  report.sections.push_back(
      {"maps",
       "Maps",
       {"The error is largest beside the hotspot, where the gradient "
        "is steepest."},
       {SampleMaps()},
       {}});
  return report;
}

}  // namespace stepslack::render

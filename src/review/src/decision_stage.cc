#include "decision_stage.h"

#include <fmt/format.h>

#include <algorithm>

#include "review_facts.h"
#include "stage_runner.h"
#include "stepslack/base/context.h"
#include "stepslack/base/digest.h"
#include "stepslack/base/process.h"
#include "stepslack/base/text.h"
#include "stepslack/diagnose/tree.h"
#include "stepslack/evidence/documents.h"

namespace stepslack::review {
namespace {

// Weights of the risk bars (docs/concepts.md).
constexpr double kLeakageWeight = 7;
constexpr double kDriftWeight = 5;
constexpr double kReproducibilityWeight = 4;

// What the model and its training are, without data, seed and record keeping.
base::Json ModelIdentity(const record::TrainPlan& plan) {
  base::Json json = record::ToJson(plan);
  base::Json identity;
  for (const char* key :
       {"model", "base_channels", "levels", "augment", "augment_turns", "global_batch",
        "samples", "learning_rate", "weight_decay", "warmup_samples", "clip_norm",
        "categorical_channels", "category_counts"}) {
    identity.Set(key, json[key]);
  }
  return identity;
}

evidence::Tags MakeTags(const DecisionInputs& in) {
  base::Json runtime;
  runtime.Set("worker", in.launcher.worker_sha256);
  runtime.Set("program", ProgramDigest());
  for (const auto& [key, value] : in.runs.honest.front().run.summary.runtime) {
    runtime.Set(key, value);
  }
  return {.dataset = in.data.lineage.dataset_tag(),
          .model = base::Sha256Of(ModelIdentity(in.runs.reference_plan).Dump(-1)),
          .runtime = base::Sha256Of(runtime.Dump(-1)),
          .hardware = base::Sha256Of(base::HostFacts().Dump(-1))};
}

std::vector<evidence::GatedRequirement> JudgeRequirements(const DecisionInputs& in) {
  std::vector<evidence::GatedRequirement> judged;
  for (const GatedRequirement& gated : in.config.requirements) {
    const MetricValue value = ValueOf(gated.requirement.metric, in.data, in.measured);
    judged.push_back(
        {.result = {.requirement = gated.requirement,
                    .estimate = value.estimate,
                    .slack = base::Evaluate(gated.requirement, value.estimate),
                    .artifact = value.artifact},
         .category = gated.category,
         .gate =
             gated.gate == "pilot" ? evidence::Gate::kPilot : evidence::Gate::kShip});
  }
  return judged;
}

diagnose::Diagnosis RunDiagnosis(
    const DecisionInputs& in, const diagnose::Facts& facts,
    const std::vector<evidence::GatedRequirement>& requirements) {
  std::vector<diagnose::FailedRequirement> failed;
  for (const evidence::GatedRequirement& gated : requirements) {
    if (gated.result.slack.verdict == base::Verdict::kMet) continue;
    failed.push_back({.id = gated.result.requirement.id,
                      .metric = gated.result.requirement.metric,
                      .title = gated.result.requirement.title,
                      .category = gated.category,
                      .verdict = gated.result.slack.verdict,
                      .layer_hint = gated.category == "leak" ? "data" : ""});
  }
  return diagnose::Diagnose(in.catalogue, facts, failed);
}

std::vector<evidence::RiskBar> MeasureRisks(const DecisionInputs& in) {
  int64_t tests = 0;
  for (const data::FoldAudit& fold : in.data.audit.folds) tests += fold.test;
  const double leaked = static_cast<double>(in.data.audit.leaked_test_rows()) /
                        static_cast<double>(std::max<int64_t>(1, tests));
  std::optional<double> drift = in.measured.overfit.drift.value;
  if (drift) drift = std::clamp(*drift, 0.0, 1.0);
  const analyze::Reproducibility& repro = in.measured.reproducibility;
  int64_t checks = 0;
  int64_t gaps = 0;
  for (const auto& equal : {repro.parameters_equal, repro.predictions_equal,
                            repro.sample_order_equal, repro.losses_equal}) {
    if (!equal) continue;
    ++checks;
    gaps += *equal ? 0 : 1;
  }
  std::optional<double> gap_share;
  if (checks > 0) gap_share = static_cast<double>(gaps) / static_cast<double>(checks);
  return {
      {.name = "data leakage",
       .share = leaked,
       .weight = kLeakageWeight,
       .basis = fmt::format("{} of {} test rows related to training or validation",
                            in.data.audit.leaked_test_rows(), tests)},
      {.name = "overfit drift",
       .share = drift,
       .weight = kDriftWeight,
       .basis = "rise of the validation error from its best to its last evaluation, "
                "mean over runs"},
      {.name = "reproducibility gaps",
       .share = gap_share,
       .weight = kReproducibilityWeight,
       .basis =
           fmt::format("{} of {} comparisons of two equal runs differ", gaps, checks)}};
}

// The estimate of a quality metric in the unit of the primary requirement.
const base::Estimate* PickQuality(const std::string& metric,
                                  const quality::MapQuality& quality) {
  if (metric == "relative_mae") return &quality.relative_mae;
  if (metric == "mae_mv") return &quality.mae;
  if (metric == "hotspot_recall") return &quality.hotspot_recall;
  if (metric == "block_recall") return &quality.block_recall;
  return nullptr;
}

void AddPrimary(const DecisionInputs& in, evidence::ReviewInputs& inputs) {
  std::string metric;
  bool lower_is_better = true;
  for (const GatedRequirement& gated : in.config.requirements) {
    if (gated.requirement.id != in.config.primary) continue;
    metric = gated.requirement.metric;
    lower_is_better = gated.requirement.direction == base::Direction::kAtMost;
  }
  const QualityResults& quality = in.measured.quality;
  const auto add = [&](const char* label, const quality::MapQuality& from) {
    if (const base::Estimate* estimate = PickQuality(metric, from)) {
      inputs.primary_history.push_back({label, *estimate, "quality report"});
    }
  };
  add("constant x mean current", quality.constant);
  add("linear baseline with physics features", quality.linear);
  add("U-Net", quality.model);
  const quality::SliceQuality* worst = nullptr;
  const base::Estimate* worst_estimate = nullptr;
  // One family of many is no slice to act on: its number has no interval.
  const bool many_groups = quality.model.groups > in.config.split.min_test_groups;
  for (const quality::SliceQuality& slice : quality.slices) {
    const base::Estimate* estimate = PickQuality(metric, slice.quality);
    if (estimate == nullptr || !estimate->value) continue;
    if (many_groups && slice.dimension == "group") continue;
    const bool worse = worst_estimate == nullptr ||
                       (lower_is_better ? *estimate->value > *worst_estimate->value
                                        : *estimate->value < *worst_estimate->value);
    if (!worse) continue;
    worst = &slice;
    worst_estimate = estimate;
  }
  if (worst != nullptr) {
    inputs.worst_slice = {fmt::format("{} {}", worst->dimension, worst->value),
                          *worst_estimate, "quality report"};
  }
}

void AddWatched(const DecisionInputs& in, evidence::ReviewInputs& inputs) {
  const analyze::ScalingPoint* strong =
      FindPoint(in.measured.scaling, analyze::ScalingRule::kStrong);
  if (strong != nullptr) {
    inputs.watched.push_back(
        {fmt::format("scaling efficiency, {} ranks, strong, {} samples a rank",
                     strong->world_size, strong->per_rank_batch),
         strong->efficiency.value ? strong->efficiency : strong->hardware,
         "scaling efficiency chart"});
  }
  inputs.watched.push_back({"communication overhead, exposed share of step time",
                            in.measured.profile.exposed_share, "comms profile"});
  inputs.watched.push_back(
      {fmt::format("time to accuracy, relative MAE {}",
                   base::Human(in.config.train.target_relative_mae)),
       in.measured.time_to_accuracy.seconds, "time to accuracy"});
}

evidence::ProfileFacts MakeProfile(const DecisionInputs& in) {
  const LatencyComparison& latency = in.measured.latency;
  evidence::ProfileFacts profile;
  profile.model_latency = latency.model_ms;
  profile.reference_latency = latency.solver_ms;
  profile.reference_name = "exact solver";
  profile.power_note =
      latency.solver_cpu_ms && latency.solver_cpu_ms->value &&
              latency.model_cpu_ms.value
          ? fmt::format(
                "no energy counter on this machine; CPU time stands for it: model "
                "{} ms, exact solver {} ms a map",
                base::Human(*latency.model_cpu_ms.value),
                base::Human(*latency.solver_cpu_ms->value))
          : std::string("no energy counter on this machine");
  profile.artifact = "runtime profile";
  return profile;
}

}  // namespace

base::Result<evidence::Review> DecideReview(const DecisionInputs& in) {
  evidence::ReviewInputs inputs;
  inputs.framing = in.config.framing;
  inputs.tags = MakeTags(in);
  inputs.created_utc = base::UtcNow();
  inputs.workload = fmt::format(
      "U-Net, {} parameters, {}x{} tiles, {} maps of {} groups, {} ranks",
      in.runs.honest.front().run.summary.parameters, in.config.data.tile,
      in.config.data.tile, in.data.maps.maps.size(),
      in.data.lineage.Find("split")->counts.at("groups"), in.config.train.ranks);
  inputs.requirements = JudgeRequirements(in);
  inputs.primary_requirement = in.config.primary;
  AddPrimary(in, inputs);
  AddWatched(in, inputs);
  if (in.measured.quality.coverage_90) {
    inputs.calibration = {"coverage of the 90 % interval on unseen groups",
                          *in.measured.quality.coverage_90, "quality report"};
  }
  inputs.profile = MakeProfile(in);
  inputs.facts = CollectFacts(in.data, in.runs, in.measured);
  inputs.diagnosis = RunDiagnosis(in, inputs.facts, inputs.requirements);
  inputs.risks = MeasureRisks(in);
  inputs.artifacts = in.artifacts;
  inputs.primary_artifact = "quality report";
  inputs.baseline_in_production = in.config.baseline_in_production;
  inputs.test_groups = in.measured.quality.model.groups;
  inputs.min_groups = in.config.split.min_test_groups;
  inputs.group_word = in.config.data.source == "embedded" ? "families" : "designs";
  return evidence::BuildReview(inputs);
}

}  // namespace stepslack::review

#include <fmt/format.h>

#include <cmath>

#include "sections.h"
#include "stepslack/base/text.h"

namespace stepslack::review {
namespace {

using base::Human;

std::string YesNo(const std::optional<bool>& value) {
  if (!value) return "not known";
  return *value ? "equal" : "different";
}

render::Table OwnershipTable(const evidence::Framing& framing) {
  const auto owner = [&](const char* role) {
    const auto found = framing.owners.find(role);
    return found != framing.owners.end() ? fmt::format("{} ({})", role, found->second)
                                         : std::string(role);
  };
  render::Table table{.title = "Ownership layers",
                      .columns = {"layer", "owns", "typical failure", "owner"},
                      .rows = {}};
  const auto add = [&](const char* layer, const char* owns, const char* failure,
                       const char* role) {
    table.rows.push_back(
        {std::string(layer), std::string(owns), std::string(failure), owner(role)});
  };
  add("problem framing", "metric and acceptance criteria", "wrong objective",
      "ML platform lead");
  add("model and training", "representation and optimization",
      "unstable or biased model", "ML platform lead");
  add("hardware mapping", "dataflow, memory, precision", "bandwidth stalls, mismatch",
      "cluster engineer");
  add("deployment stack", "runtime, firmware, drivers",
      "latency jitter, incompatibility", "training infra owner");
  add("governance", "monitoring, rollback, signoff", "silent drift in production",
      "ML platform lead");
  return table;
}

render::Table PlaybookTable(const evidence::Review& review) {
  const evidence::Tags& tags = review.tags;
  return {
      .title = "Playbook",
      .columns = {"step", "this review"},
      .rows = {
          {std::string("freeze the four tags"),
           fmt::format("dataset {}, model {}, runtime {}, hardware {}",
                       tags.dataset.substr(0, 12), tags.model.substr(0, 12),
                       tags.runtime.substr(0, 12), tags.hardware.substr(0, 12))},
          {std::string("isolate the first failing slice and metric shift"),
           review.memo.failing_slice},
          {std::string("classify"), review.memo.failing_layer},
          {std::string("prove with one reduced experiment"),
           std::string(review.diagnosis.primary.empty()
                           ? "not run: no cause is named"
                           : "named in the cause table; not run yet")},
          {std::string("patch the smallest owner-controlled fix"),
           review.memo.minimal_change},
          {std::string("re-run the full validation"), review.memo.rerun_artifacts}}};
}

}  // namespace

render::Section ReproducibilitySection(const SectionInputs& in) {
  const analyze::Reproducibility& repro = in.measured.reproducibility;
  render::Section section{.id = "reproducibility", .title = "Seed reproducibility"};
  section.text.push_back(
      fmt::format("The same plan and seed, run twice on {} ranks ({} samples): {}. {}",
                  in.runs.repeat_a.summary.world_size, in.runs.repeat_a.summary.samples,
                  analyze::ToString(repro.verdict), repro.reason));
  section.text.push_back(
      fmt::format("Between seeds, relative MAE varies by {} (coefficient "
                  "of variation).",
                  Percent(in.measured.quality.seed_spread)));
  render::Table table{.title = "First run against second run",
                      .columns = {"compared", "result", "first", "second"},
                      .rows = {}};
  const auto& a = in.runs.repeat_a.summary;
  const auto& b = in.runs.repeat_b.summary;
  table.rows.push_back({std::string("parameters"), YesNo(repro.parameters_equal),
                        a.parameters_sha256.substr(0, 16),
                        b.parameters_sha256.substr(0, 16)});
  table.rows.push_back({std::string("predictions"), YesNo(repro.predictions_equal),
                        a.predictions_sha256.substr(0, 16),
                        b.predictions_sha256.substr(0, 16)});
  table.rows.push_back({std::string("sample order"), YesNo(repro.sample_order_equal),
                        std::string("-"), std::string("-")});
  table.rows.push_back({std::string("losses"), YesNo(repro.losses_equal),
                        fmt::format("{} steps", repro.steps_compared),
                        std::string("-")});
  section.tables.push_back(std::move(table));
  return section;
}

render::Section LatencySection(const SectionInputs& in) {
  const LatencyComparison& latency = in.measured.latency;
  render::Section section{.id = "latency",
                          .title = "Latency and energy against the exact solver"};
  if (!latency.solver_ms) {
    section.text.push_back(
        fmt::format("One map through the model takes {}. The labels were not made "
                    "here, so the exact "
                    "solver's cost is not measured.",
                    Short(latency.model_ms)));
  } else {
    const double ratio =
        latency.ratio && latency.ratio->value ? *latency.ratio->value : NAN;
    section.text.push_back(
        ratio > 1
            ? fmt::format(
                  "The exact solver WINS on this grid: it needs {} a map with no "
                  "error, the model {} ({} times as long).",
                  Short(*latency.solver_ms), Short(latency.model_ms), Human(ratio))
            : fmt::format(
                  "The model needs {} a map, the exact solver {}: {} of its time, "
                  "with the errors shown under Quality.",
                  Short(latency.model_ms), Short(*latency.solver_ms),
                  Percent(*latency.ratio)));
    section.text.push_back(
        "Energy: this machine offers no energy counter to the program, so CPU seconds "
        "stand for it; at equal power per busy core the energy ratio is the CPU-time "
        "ratio.");
  }
  render::Table table{.title = "Cost of one map, one thread",
                      .columns = {"way", "wall ms", "CPU ms (stands for energy)"},
                      .rows = {}};
  table.rows.push_back({std::string("model"), latency.model_ms, latency.model_cpu_ms});
  if (latency.solver_ms && latency.solver_cpu_ms) {
    table.rows.push_back(
        {std::string("exact solver"), *latency.solver_ms, *latency.solver_cpu_ms});
  }
  section.tables.push_back(std::move(table));
  return section;
}

render::Section PlaybookSection(const SectionInputs& in,
                                const evidence::Review& review) {
  render::Section section{.id = "playbook",
                          .title = "Ownership, playbook, debug branches"};
  section.text.push_back(fmt::format("First failing layer: {}. Decision: {}.",
                                     review.diagnosis.layer,
                                     evidence::ToString(review.decision)));
  section.tables.push_back(OwnershipTable(in.config.framing));
  section.tables.push_back(PlaybookTable(review));
  const QualityResults& quality = in.measured.quality;
  section.tables.push_back(
      {.title = "Debug branches",
       .columns = {"branch", "result"},
       .rows = {
           {std::string("rebuild split lineage"),
            fmt::format("{} stages, split digest {}", in.data.lineage.stages.size(),
                        in.data.lineage.dataset_tag().substr(0, 16))},
           {std::string("check seed reproducibility"),
            std::string(analyze::ToString(in.measured.reproducibility.verdict))},
           {std::string("re-run baseline before tuning"),
            fmt::format("constant {}, linear {} (relative MAE, same test maps)",
                        Short(quality.constant.relative_mae),
                        Short(quality.linear.relative_mae))}}});
  return section;
}

render::Section KpiSection(const ReviewConfig& config, const evidence::Review& review) {
  render::Section section{.id = "kpi",
                          .title = "Deployment KPI dashboard and rollback plan"};
  section.text.push_back(
      "Watched after deployment: the requirements of this review, with "
      "the values that were accepted.");
  if (!config.framing.rollback_trigger.empty()) {
    section.text.push_back("Roll back when: " + config.framing.rollback_trigger + ".");
  }
  render::Table kpis{
      .title = "KPIs", .columns = {"KPI", "accepted at", "alarm", "owner"}, .rows = {}};
  for (const evidence::RequirementResult& result : review.requirements) {
    const base::Requirement& requirement = result.requirement;
    kpis.rows.push_back(
        {requirement.title,
         result.estimate ? render::Cell(*result.estimate)
                         : render::Cell(std::string("not measured")),
         fmt::format(
             "{} {} {}",
             requirement.direction == base::Direction::kAtLeast ? "below" : "above",
             Human(requirement.bound), requirement.unit),
         requirement.owner});
  }
  render::Table steps{
      .title = "Rollback plan", .columns = {"step", "action"}, .rows = {}};
  for (size_t i = 0; i < config.framing.rollback_steps.size(); ++i) {
    steps.rows.push_back(
        {static_cast<double>(i + 1), config.framing.rollback_steps[i]});
  }
  section.tables.push_back(std::move(kpis));
  section.tables.push_back(std::move(steps));
  return section;
}

std::vector<render::Section> MeasuredSections(const SectionInputs& in) {
  return {QualitySection(in),         MapsSection(in),
          SplitAuditSection(in),      ScalingSection(in),
          CommsSection(in),           TimelineSection(in),
          TimeToAccuracySection(in),  BeforeAfterSection(in),
          AugmentationSection(in),    HyperparameterSection(in),
          ReproducibilitySection(in), LatencySection(in),
          TrainingLogSection(in),     LineageSection(in)};
}

}  // namespace stepslack::review

// A small review in which everything is met, for tests to spoil one thing at a time.
#pragma once

#include <string>

#include "stepslack/evidence/documents.h"

namespace stepslack::evidence {

inline base::Estimate Measured(double value, double low, double high,
                               const std::string& unit, int64_t n,
                               const std::string& n_of) {
  base::Estimate estimate;
  estimate.value = value;
  estimate.low = low;
  estimate.high = high;
  estimate.unit = unit;
  estimate.n = n;
  estimate.n_of = n_of;
  estimate.method = "t interval";
  return estimate;
}

// Bounded from above by 1 with the given interval.
inline GatedRequirement AtMostOne(const std::string& id, const std::string& category,
                                  double low, double high, Gate gate = Gate::kShip) {
  GatedRequirement gated;
  gated.category = category;
  gated.gate = gate;
  RequirementResult& result = gated.result;
  result.requirement.id = id;
  result.requirement.title = "title of " + id;
  result.requirement.metric = id;
  result.requirement.bound = 1;
  result.requirement.unit = "mV";
  result.requirement.owner = "ML platform lead";
  result.estimate = Measured((low + high) / 2, low, high, "mV", 12, "families");
  result.slack = base::Evaluate(result.requirement, result.estimate);
  result.artifact = "split audit";
  return gated;
}

inline GatedRequirement NotRun(const std::string& id, const std::string& category) {
  GatedRequirement gated = AtMostOne(id, category, 0, 0);
  gated.result.estimate.reset();
  gated.result.slack = base::Evaluate(gated.result.requirement, std::nullopt);
  return gated;
}

inline Artifact ExampleArtifact(const std::string& name, const std::string& path,
                                char digit) {
  return {name, path, std::string(64, digit)};
}

inline diagnose::Fact One(double value) {
  return {base::Exact(value, "1", 2, "runs", "compared"), "reproducibility check"};
}

inline ReviewInputs ExampleReview() {
  ReviewInputs inputs;
  Framing& framing = inputs.framing;
  framing.title = "IR-drop hotspots";
  framing.path = "ai-vlsi/irdrop";
  framing.workflow_decision = "order blocks for repair";
  framing.limits = "never replaces the sign-off run";
  framing.owners = {{"training infra owner", "Ada"},
                    {"cluster engineer", "Ben"},
                    {"ML platform lead", "Cleo"}};
  framing.rollback_steps = {"switch the flow to the exact solver"};
  framing.rollback_trigger = "recall below 0.8 in a week";
  inputs.tags = {std::string(64, 'a'), std::string(64, 'b'), std::string(64, 'c'),
                 std::string(64, 'd')};
  inputs.created_utc = "2026-01-02T03:04:05Z";
  inputs.workload = "U-Net on 64x64 maps, 2 ranks";
  inputs.requirements = {AtMostOne("mae", "quality", 0.7, 0.9),
                         AtMostOne("leak", "leak", 0.0, 0.0),
                         AtMostOne("comm", "exposed_comm", 0.2, 0.4)};
  inputs.primary_requirement = "mae";
  inputs.primary_history = {
      {"baseline", Measured(1.6, 1.5, 1.7, "mV", 12, "families"), "split audit"},
      {"now", Measured(0.8, 0.7, 0.9, "mV", 12, "families"), "split audit"}};
  inputs.watched = {{"scaling efficiency", Measured(0.9, 0.85, 0.95, "1", 30, "steps"),
                     "comms profile"}};
  inputs.worst_slice = NamedEstimate{
      "family 7", Measured(1.2, 1.0, 1.4, "mV", 40, "maps"), "split audit"};
  inputs.profile.model_latency = Measured(12, 11, 13, "ms", 50, "runs");
  inputs.profile.reference_latency = Measured(8, 7, 9, "ms", 50, "runs");
  inputs.profile.reference_name = "exact solver";
  inputs.profile.power_note = "no energy counter on this machine";
  inputs.profile.artifact = "runtime profile";
  inputs.facts = {{"split.leaked_rows", One(0)},
                  {"split.group_overlap", One(0)},
                  {"repro.parameters_equal", One(1)}};
  diagnose::CauseFinding cause;
  cause.id = "D07";
  cause.layer = "data";
  cause.title = "leaked rows";
  cause.state = diagnose::CauseState::kRefuted;
  cause.evidence = {"split.leaked_rows = 0 is not > 0"};
  cause.fix = "freeze the split";
  cause.experiment = "score twice";
  cause.owner = "ML platform lead";
  inputs.diagnosis.causes = {cause};
  inputs.diagnosis.reason = "no watched metric fails";
  inputs.artifacts = {ExampleArtifact("split audit", "audit.json", '1'),
                      ExampleArtifact("runtime profile", "profile.json", '2'),
                      ExampleArtifact("Comms profile", "comms.json", '3')};
  inputs.primary_artifact = "split audit";
  inputs.test_groups = 12;
  return inputs;
}

}  // namespace stepslack::evidence

// A review: every field of the documents that Stepslack signs. Texts are computed from
// artifacts by the builders of this module; an empty required field is refused, never
// printed as a placeholder.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "stepslack/base/estimate.h"
#include "stepslack/diagnose/diagnosis.h"

namespace stepslack::evidence {

enum class Decision { kShip, kRollback, kBoundedPilot, kEscalate };
std::string_view ToString(
    Decision decision);  // "ship", "rollback", "bounded pilot", ...

struct Tags {
  std::string dataset;  // digests of content, 64 hexadecimal digits
  std::string model;
  std::string runtime;
  std::string hardware;
};

struct RequirementResult {
  base::Requirement requirement;
  std::optional<base::Estimate> estimate;
  base::Slack slack;
  std::string artifact;  // where the estimate comes from
};

struct ChecklistItem {
  std::string id;
  std::string text;
  base::Verdict verdict = base::Verdict::kNotRun;
  std::string proof;  // one sentence with the numbers
  std::string artifact;
};

struct PromptAnswer {
  std::string question;
  std::string answer;
  std::string artifact;
};

struct Artifact {
  std::string name;  // "split audit"
  std::string path;  // relative to the room
  std::string sha256;
};

// Risk shares in [0, 1], with the weights of docs (7 : 5 : 4 unless configured).
struct RiskBar {
  std::string name;  // "data leakage", "overfit drift", "reproducibility gaps"
  std::optional<double> share;
  double weight = 0;
  std::string basis;  // how the share was measured
};

// From review.toml: what the model is for and who answers.
struct Framing {
  std::string title;
  std::string path;               // capsule PATH
  std::string workflow_decision;  // the decision that the model output influences
  std::string limits;             // what the model must never replace
  std::map<std::string, std::string> owners;  // role -> person or team
  std::vector<std::string> rollback_steps;
  std::string rollback_trigger;
};

struct ReviewMemo {
  // 1 symptom
  std::string watched_metrics, failing_slice, failing_layer;
  // 2 mechanism hypothesis
  std::string primary_mechanism, competing_hypotheses, missing_evidence;
  // 3 proposed action
  std::string minimal_change, expected_movement, regression_risk;
  // 4 sign-off
  std::string rerun_artifacts, required_owners, final_decision;
};

struct DecisionMemo {
  std::string metric, root_cause, fix, validation, owners;
};

struct Capsule {
  std::string path, workload_slice, primary_metric, failing_layer, owner,
      primary_artifact, primary_artifact_sha256, decision;
};

struct Review {
  Framing framing;
  Tags tags;
  std::string created_utc;
  std::vector<RequirementResult> requirements;  // in file order
  diagnose::Diagnosis diagnosis;
  Decision decision = Decision::kEscalate;
  std::vector<std::string> decision_reasons;
  std::vector<ChecklistItem> checklist;
  std::vector<PromptAnswer> prompts;
  std::vector<RiskBar> risks;
  ReviewMemo memo;
  DecisionMemo decision_memo;
  Capsule capsule;
  std::vector<Artifact> artifacts;
};

}  // namespace stepslack::evidence

#include "stepslack/evidence/review_json.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

namespace stepslack::evidence {
namespace {

using base::Json;

Json Optional(const std::optional<double>& value) {
  return value ? Json(*value) : Json();
}

Json Texts(const std::vector<std::string>& texts) {
  Json::Array array;
  for (const std::string& text : texts) array.emplace_back(text);
  return array;
}

template <typename T>
Json List(const std::vector<T>& items, Json (*to_json)(const T&)) {
  Json::Array array;
  for (const T& item : items) array.push_back(to_json(item));
  return array;
}

Json RequirementJson(const RequirementResult& result) {
  const base::Requirement& requirement = result.requirement;
  const base::Slack& slack = result.slack;
  const bool at_least = requirement.direction == base::Direction::kAtLeast;
  Json json;
  json.Set("id", requirement.id);
  json.Set("title", requirement.title);
  json.Set("metric", requirement.metric);
  json.Set("estimate", result.estimate ? base::ToJson(*result.estimate) : Json());
  json.Set("bound", requirement.bound);
  json.Set("direction", at_least ? "at_least" : "at_most");
  json.Set("slack", Optional(slack.margin));
  json.Set("slack_percent", Optional(slack.percent));
  json.Set("verdict", base::ToString(slack.verdict));
  json.Set("samples_to_decide",
           slack.samples_to_decide ? Json(*slack.samples_to_decide) : Json());
  json.Set("owner", requirement.owner);
  json.Set("artifact", result.artifact);
  return json;
}

Json ChecklistJson(const ChecklistItem& item) {
  Json json;
  json.Set("id", item.id);
  json.Set("text", item.text);
  json.Set("verdict", base::ToString(item.verdict));
  json.Set("proof", item.proof);
  json.Set("artifact", item.artifact);
  return json;
}

Json PromptJson(const PromptAnswer& prompt) {
  Json json;
  json.Set("question", prompt.question);
  json.Set("answer", prompt.answer);
  json.Set("artifact", prompt.artifact);
  return json;
}

Json RiskJson(const RiskBar& risk) {
  Json json;
  json.Set("name", risk.name);
  json.Set("share", Optional(risk.share));
  json.Set("weight", risk.weight);
  json.Set("basis", risk.basis);
  return json;
}

Json ArtifactJson(const Artifact& artifact) {
  Json json;
  json.Set("name", artifact.name);
  json.Set("path", artifact.path);
  json.Set("sha256", artifact.sha256);
  return json;
}

Json TagsJson(const Tags& tags) {
  Json json;
  json.Set("dataset", tags.dataset);
  json.Set("model", tags.model);
  json.Set("runtime", tags.runtime);
  json.Set("hardware", tags.hardware);
  return json;
}

Json FramingJson(const Framing& framing) {
  Json::Object owners;
  for (const auto& [role, name] : framing.owners) owners.emplace(role, name);
  Json json;
  json.Set("title", framing.title);
  json.Set("path", framing.path);
  json.Set("workflow_decision", framing.workflow_decision);
  json.Set("limits", framing.limits);
  json.Set("owners", std::move(owners));
  json.Set("rollback_steps", Texts(framing.rollback_steps));
  json.Set("rollback_trigger", framing.rollback_trigger);
  return json;
}

Json MemoJson(const ReviewMemo& memo) {
  Json json;
  json.Set("watched_metrics", memo.watched_metrics);
  json.Set("failing_slice", memo.failing_slice);
  json.Set("failing_layer", memo.failing_layer);
  json.Set("primary_mechanism", memo.primary_mechanism);
  json.Set("competing_hypotheses", memo.competing_hypotheses);
  json.Set("missing_evidence", memo.missing_evidence);
  json.Set("minimal_change", memo.minimal_change);
  json.Set("expected_movement", memo.expected_movement);
  json.Set("regression_risk", memo.regression_risk);
  json.Set("rerun_artifacts", memo.rerun_artifacts);
  json.Set("required_owners", memo.required_owners);
  json.Set("final_decision", memo.final_decision);
  return json;
}

Json DecisionMemoJson(const DecisionMemo& memo) {
  Json json;
  json.Set("metric", memo.metric);
  json.Set("root_cause", memo.root_cause);
  json.Set("fix", memo.fix);
  json.Set("validation", memo.validation);
  json.Set("owners", memo.owners);
  return json;
}

Json CapsuleFields(const Capsule& capsule) {
  Json json;
  json.Set("path", capsule.path);
  json.Set("workload_slice", capsule.workload_slice);
  json.Set("primary_metric", capsule.primary_metric);
  json.Set("first_failing_layer", capsule.failing_layer);
  json.Set("owner", capsule.owner);
  json.Set("primary_artifact", capsule.primary_artifact);
  json.Set("primary_artifact_sha256", capsule.primary_artifact_sha256);
  json.Set("decision", capsule.decision);
  return json;
}

// Sort key of one requirement: errors first, then the slack.
std::pair<int, double> SlackKey(const RequirementResult& result) {
  const base::Slack& slack = result.slack;
  if (slack.verdict == base::Verdict::kError ||
      slack.verdict == base::Verdict::kNotRun) {
    return {0, 0.0};
  }
  if (slack.percent) return {1, *slack.percent};
  const double margin = slack.margin.value_or(0);
  if (margin == 0) return {1, 0.0};
  const double infinity = std::numeric_limits<double>::infinity();
  return {1, margin < 0 ? -infinity : infinity};
}

}  // namespace

Json ToJson(const Review& review) {
  Json json;
  json.Set("schema", kReviewSchema);
  json.Set("decision", ToString(review.decision));
  json.Set("decision_reasons", Texts(review.decision_reasons));
  json.Set("requirements", List(review.requirements, RequirementJson));
  json.Set("checklist", List(review.checklist, ChecklistJson));
  json.Set("prompts", List(review.prompts, PromptJson));
  json.Set("tags", TagsJson(review.tags));
  json.Set("layer", review.diagnosis.layer);
  json.Set("diagnosis", diagnose::ToJson(review.diagnosis));
  json.Set("memo", MemoJson(review.memo));
  json.Set("decision_memo", DecisionMemoJson(review.decision_memo));
  json.Set("capsule", CapsuleFields(review.capsule));
  json.Set("risks", List(review.risks, RiskJson));
  json.Set("artifacts", List(review.artifacts, ArtifactJson));
  json.Set("created_utc", review.created_utc);
  json.Set("framing", FramingJson(review.framing));
  return json;
}

std::vector<RequirementResult> SortedBySlack(
    const std::vector<RequirementResult>& list) {
  std::vector<RequirementResult> sorted = list;
  std::ranges::stable_sort(sorted, {}, SlackKey);
  return sorted;
}

}  // namespace stepslack::evidence

#include "documents.h"

#include <fmt/format.h>

#include "display_text.h"

namespace stepslack::render {
namespace {

// Empty when a tag is missing, so that the document is refused.
std::string TagsText(const evidence::Tags& tags) {
  const bool complete = !tags.dataset.empty() && !tags.model.empty() &&
                        !tags.runtime.empty() && !tags.hardware.empty();
  if (!complete) return "";
  return fmt::format("dataset {}, model {}, runtime {}, hardware {}",
                     ShortDigest(tags.dataset), ShortDigest(tags.model),
                     ShortDigest(tags.runtime), ShortDigest(tags.hardware));
}

}  // namespace

std::vector<DocumentPart> MemoParts(const evidence::Review& review) {
  const evidence::ReviewMemo& memo = review.memo;
  return {{"1 Symptom",
           {{"Watched metric", memo.watched_metrics},
            {"Failing workload slice", memo.failing_slice},
            {"Failing layer", memo.failing_layer},
            {"Revision tags", TagsText(review.tags)}}},
          {"2 Mechanism hypothesis",
           {{"Primary mechanism", memo.primary_mechanism},
            {"Competing hypotheses", memo.competing_hypotheses},
            {"Missing evidence", memo.missing_evidence}}},
          {"3 Proposed action",
           {{"Minimal reversible change", memo.minimal_change},
            {"Expected movement", memo.expected_movement},
            {"Regression risk", memo.regression_risk}}},
          {"4 Signoff",
           {{"Re-run artifact", memo.rerun_artifacts},
            {"Required owners", memo.required_owners},
            {"Final decision", memo.final_decision}}}};
}

std::vector<DocumentField> DecisionFields(const evidence::Review& review) {
  const evidence::DecisionMemo& memo = review.decision_memo;
  return {{"Metric", memo.metric},
          {"Root cause", memo.root_cause},
          {"Fix", memo.fix},
          {"Validation", memo.validation},
          {"Owners", memo.owners}};
}

std::vector<DocumentField> CapsuleFields(const evidence::Review& review) {
  const evidence::Capsule& capsule = review.capsule;
  std::string artifact = capsule.primary_artifact;
  if (!artifact.empty() && !capsule.primary_artifact_sha256.empty()) {
    artifact += " (sha256 " + capsule.primary_artifact_sha256 + ")";
  }
  return {{"PATH", capsule.path},
          {"WORKLOAD SLICE", capsule.workload_slice},
          {"PRIMARY METRIC", capsule.primary_metric},
          {"FIRST FAILING LAYER", capsule.failing_layer},
          {"OWNER", capsule.owner},
          {"PRIMARY ARTIFACT", artifact},
          {"DECISION", capsule.decision}};
}

}  // namespace stepslack::render

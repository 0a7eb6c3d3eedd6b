#include "stepslack/base/text.h"
#include "stepslack/evidence/documents.h"
#include "wording.h"

namespace stepslack::evidence {
namespace {

base::Status RequireInputs(const ReviewInputs& inputs) {
  const Framing& framing = inputs.framing;
  const Tags& tags = inputs.tags;
  SS_RETURN_IF_ERROR(
      RequireFields("review", {{"title", framing.title},
                               {"path", framing.path},
                               {"workflow_decision", framing.workflow_decision},
                               {"limits", framing.limits},
                               {"created_utc", inputs.created_utc},
                               {"workload", inputs.workload},
                               {"dataset tag", tags.dataset},
                               {"model tag", tags.model},
                               {"runtime tag", tags.runtime},
                               {"hardware tag", tags.hardware}}));
  for (const Artifact& artifact : inputs.artifacts) {
    SS_RETURN_IF_ERROR(
        RequireFields("artifact " + artifact.name, {{"name", artifact.name},
                                                    {"path", artifact.path},
                                                    {"sha256", artifact.sha256}}));
  }
  return {};
}

}  // namespace

base::Result<Review> BuildReview(const ReviewInputs& inputs) {
  SS_RETURN_IF_ERROR(RequireInputs(inputs));
  Review review;
  review.framing = inputs.framing;
  review.tags = inputs.tags;
  review.created_utc = inputs.created_utc;
  for (const GatedRequirement& gated : inputs.requirements) {
    review.requirements.push_back(gated.result);
  }
  review.diagnosis = inputs.diagnosis;
  review.checklist = BuildChecklist(inputs);
  const bool rollback_documented = !inputs.framing.rollback_steps.empty() &&
                                   !base::Trim(inputs.framing.rollback_trigger).empty();
  const PolicyOutcome outcome =
      Decide({.requirements = inputs.requirements,
              .checklist = review.checklist,
              .baseline_in_production = inputs.baseline_in_production,
              .rollback_documented = rollback_documented,
              .test_groups = inputs.test_groups,
              .min_groups = inputs.min_groups,
              .group_word = inputs.group_word});
  review.decision = outcome.decision;
  review.decision_reasons = outcome.reasons;
  review.prompts = BuildPrompts(inputs, outcome);
  review.risks = inputs.risks;
  SS_TRY(review.memo, BuildReviewMemo(inputs, outcome));
  SS_TRY(review.decision_memo, BuildDecisionMemo(inputs, outcome));
  SS_TRY(review.capsule, BuildCapsule(inputs, outcome));
  review.artifacts = inputs.artifacts;
  return review;
}

}  // namespace stepslack::evidence

#include <fmt/format.h>

#include "stepslack/evidence/documents.h"
#include "stepslack/evidence/review_json.h"
#include "wording.h"

namespace stepslack::evidence {
namespace {

const diagnose::CauseFinding* PrimaryCause(const diagnose::Diagnosis& diagnosis) {
  for (const diagnose::CauseFinding& cause : diagnosis.causes) {
    if (cause.id == diagnosis.primary) return &cause;
  }
  return nullptr;
}

std::string WhoFixes(const ReviewInputs& inputs) {
  if (const diagnose::CauseFinding* cause = PrimaryCause(inputs.diagnosis)) {
    return fmt::format("{}: {} (for {} {})", NameOwner(inputs.framing, cause->owner),
                       cause->fix, cause->id, cause->title);
  }
  std::vector<RequirementResult> results;
  for (const GatedRequirement& gated : inputs.requirements) {
    results.push_back(gated.result);
  }
  if (results.empty()) return "nobody: no requirement is stated";
  const RequirementResult worst = SortedBySlack(results).front();
  return fmt::format(
      "no fix is named, because {}; {} answers for the requirement with the least "
      "slack "
      "({})",
      inputs.diagnosis.reason, NameOwner(inputs.framing, worst.requirement.owner),
      DescribeRequirement(worst));
}

std::string ValidationMatrix(const ReviewInputs& inputs) {
  std::vector<std::string> rows;
  for (const GatedRequirement& gated : inputs.requirements) {
    const RequirementResult& result = gated.result;
    const std::string sample =
        result.estimate ? fmt::format("{} {}, {}", result.estimate->n,
                                      result.estimate->n_of, result.estimate->method)
                        : "not measured";
    rows.push_back(fmt::format("{} ({}; needed for {}): {}", result.requirement.title,
                               sample, gated.gate == Gate::kPilot ? "a pilot" : "ship",
                               base::ToString(result.slack.verdict)));
  }
  return fmt::format(
      "{} requirements on {} {} that training never saw ({} needed), and on the worst "
      "slice {}; all must be met on one set of tags: {}",
      inputs.requirements.size(), inputs.test_groups, inputs.group_word,
      inputs.min_groups,
      inputs.worst_slice ? inputs.worst_slice->label : "(none measured)",
      fmt::join(rows, "; "));
}

std::string Connection(const ReviewInputs& inputs, const PolicyOutcome& outcome) {
  std::string claim = "no requirement is stated";
  for (const GatedRequirement& gated : inputs.requirements) {
    if (gated.result.requirement.id == inputs.primary_requirement) {
      claim = DescribeRequirement(gated.result);
    }
  }
  const Artifact* proof = FindArtifact(inputs.artifacts, inputs.primary_artifact);
  const std::string owners = NameRequiredOwners(inputs.framing);
  return fmt::format(
      "{}. It is proven by {} and {} measured artifacts in all, each with its SHA-256; "
      "it bears on this decision: {}; proposed: {} ({}); to be signed by {}",
      claim, proof != nullptr ? CiteArtifact(*proof) : "no primary artifact",
      inputs.artifacts.size(), inputs.framing.workflow_decision,
      ToString(outcome.decision), outcome.rule,
      owners.empty() ? "owners who are not all named yet" : owners);
}

}  // namespace

std::vector<PromptAnswer> BuildPrompts(const ReviewInputs& inputs,
                                       const PolicyOutcome& outcome) {
  const diagnose::Diagnosis& diagnosis = inputs.diagnosis;
  return {
      {"which decision will this model output influence?",
       fmt::format("{}; limits: {}", inputs.framing.workflow_decision,
                   inputs.framing.limits),
       "review.toml"},
      {"what is the first failing layer when the metric regresses?",
       fmt::format("{}: {}", diagnosis.layer, diagnosis.reason),
       inputs.primary_artifact},
      {"which owner applies the smallest reversible fix?", WhoFixes(inputs),
       "review.toml"},
      {"what validation matrix is required before deployment?",
       ValidationMatrix(inputs), "review.toml"},
      {"what evidence connects this ML claim to a concrete workflow decision and owner "
       "signoff?",
       Connection(inputs, outcome), inputs.primary_artifact}};
}

}  // namespace stepslack::evidence

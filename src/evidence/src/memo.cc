#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "stepslack/base/text.h"
#include "stepslack/evidence/documents.h"
#include "wording.h"

namespace stepslack::evidence {
namespace {

using base::Verdict;
using diagnose::CauseFinding;
using diagnose::CauseState;

std::string Join(const std::vector<std::string>& texts) {
  return fmt::format("{}", fmt::join(texts, "; "));
}

std::string_view ToString(CauseState state) {
  switch (state) {
    case CauseState::kSupported:
      return "supported";
    case CauseState::kRefuted:
      return "refuted";
    case CauseState::kUndecided:
      return "undecided";
  }
  return "undecided";
}

std::string WatchedMetrics(const ReviewInputs& inputs) {
  std::vector<std::string> texts;
  for (const NamedEstimate& watched : inputs.watched)
    texts.push_back(Describe(watched));
  if (texts.empty()) return "";
  std::vector<std::string> failing;
  for (const GatedRequirement& gated : inputs.requirements) {
    if (gated.result.slack.verdict == Verdict::kViolated) {
      failing.push_back(gated.result.requirement.title);
    }
  }
  texts.push_back(failing.empty()
                      ? "no requirement is violated"
                      : fmt::format("violated: {}", fmt::join(failing, ", ")));
  return Join(texts);
}

std::string FailingSlice(const ReviewInputs& inputs, const Subject& subject) {
  if (!inputs.worst_slice) return "";
  return DescribeSlice(*inputs.worst_slice,
                       subject.requirement->estimate.value_or(base::Estimate{}));
}

std::string Mechanism(const ReviewInputs& inputs, const Subject& subject) {
  if (subject.cause == nullptr) {
    return "no mechanism is named: " + inputs.diagnosis.reason;
  }
  return fmt::format("{} {}, because {}", subject.cause->id, subject.cause->title,
                     fmt::join(subject.cause->evidence, "; "));
}

// "data drift: 6 of 8 refuted; undecided: D03, D09".
std::string Hypothesis(const ReviewInputs& inputs, std::string_view name,
                       const std::vector<std::string_view>& layers) {
  int total = 0;
  int refuted = 0;
  std::vector<std::string> supported;
  std::vector<std::string> undecided;
  for (const CauseFinding& cause : inputs.diagnosis.causes) {
    if (std::ranges::find(layers, cause.layer) == layers.end()) continue;
    ++total;
    refuted += cause.state == CauseState::kRefuted ? 1 : 0;
    if (cause.state == CauseState::kSupported) supported.push_back(cause.id);
    if (cause.state == CauseState::kUndecided) undecided.push_back(cause.id);
  }
  std::string text = fmt::format("{}: {} of {} causes refuted", name, refuted, total);
  if (!supported.empty()) {
    text += fmt::format(", supported: {}", fmt::join(supported, " "));
  }
  if (!undecided.empty()) {
    text += fmt::format(", undecided: {}", fmt::join(undecided, " "));
  }
  return text;
}

std::string CompetingHypotheses(const ReviewInputs& inputs, const Subject& subject) {
  std::vector<std::string> texts = {
      Hypothesis(inputs, "data drift", {"data"}),
      Hypothesis(inputs, "optimization bug", {"model"}),
      Hypothesis(inputs, "mapping bottleneck", {"runtime", "hardware"})};
  if (subject.cause == nullptr) return Join(texts);
  for (const CauseFinding& cause : inputs.diagnosis.causes) {
    const auto& names = subject.cause->competitors;
    if (std::ranges::find(names, cause.id) == names.end()) continue;
    texts.push_back(fmt::format("competitor {} {}: {}", cause.id, cause.title,
                                ToString(cause.state)));
  }
  return Join(texts);
}

std::string MissingEvidence(const ReviewInputs& inputs) {
  const auto state = [](const std::optional<NamedEstimate>& named) {
    return named ? Describe(*named) : std::string("not measured");
  };
  const std::vector<std::string>& missing = inputs.diagnosis.missing;
  const Artifact* profile = FindArtifact(inputs.artifacts, inputs.profile.artifact);
  return Join({missing.empty() ? "no further record is needed to decide"
                               : fmt::format("records that would decide: {}",
                                             fmt::join(missing, ", ")),
               "profile: " + (profile != nullptr ? CiteArtifact(*profile)
                                                 : std::string("not there")),
               "calibration: " + state(inputs.calibration),
               "signoff correlation: " + state(inputs.signoff_correlation)});
}

std::string MinimalChange(const ReviewInputs& inputs, const Subject& subject,
                          Decision decision) {
  if (subject.cause != nullptr) {
    return fmt::format("{} ({} layer, {}); prove it first: {}", subject.cause->fix,
                       subject.cause->layer, subject.owner, subject.cause->experiment);
  }
  if (inputs.diagnosis.regressed) {
    // Fixing before the layer is isolated would be a guess.
    const auto supported =
        std::ranges::find_if(inputs.diagnosis.causes, [](const CauseFinding& cause) {
          return cause.relevant && cause.state == CauseState::kSupported;
        });
    return supported != inputs.diagnosis.causes.end()
               ? fmt::format("no change yet; decide with one experiment: {} ({})",
                             supported->experiment, supported->discriminating_test)
               : fmt::format("no change yet; record first: {}",
                             fmt::join(inputs.diagnosis.missing, ", "));
  }
  if (decision == Decision::kShip) {
    return "none: the candidate goes into the flow as it was measured";
  }
  return inputs.diagnosis.missing.empty()
             ? "none to the model; close the open points of the decision"
             : fmt::format("none to the model; measure {}",
                           fmt::join(inputs.diagnosis.missing, ", "));
}

std::string ExpectedMovement(const ReviewInputs& inputs, const Subject& subject) {
  std::vector<std::string> texts;
  for (const GatedRequirement& gated : inputs.requirements) {
    const RequirementResult& result = gated.result;
    if (result.slack.verdict != Verdict::kViolated || !result.estimate) continue;
    texts.push_back(fmt::format(
        "{} must move from {} to {} {}", result.requirement.title,
        base::Human(result.estimate->value.value_or(0)),
        result.requirement.direction == base::Direction::kAtLeast ? "at least"
                                                                  : "at most",
        base::Human(result.requirement.bound)));
  }
  if (texts.empty()) {
    texts.push_back("quality: stays at " + DescribeRequirement(*subject.requirement));
  }
  if (subject.cause != nullptr && subject.cause->share_stated) {
    texts.push_back(fmt::format("the cause explains {:.0f} % of the loss",
                                100 * subject.cause->explained_share));
  }
  texts.push_back("latency: " + CompareLatency(inputs.profile));
  texts.push_back("power: " + ComparePower(inputs.profile));
  return Join(texts);
}

std::string RegressionRisk(const ReviewInputs& inputs, const Subject& subject) {
  std::vector<std::string> texts;
  texts.push_back(fmt::format("distribution shift: {} {} were tested, worst slice {}",
                              inputs.test_groups, inputs.group_word,
                              FailingSlice(inputs, subject)));
  texts.push_back(
      fmt::format("stack incompatibility: proven only for runtime {} on hardware {}",
                  ShortDigest(inputs.tags.runtime), ShortDigest(inputs.tags.hardware)));
  texts.push_back(fmt::format("owner handoff: {} fixes, {} sign", subject.owner,
                              NameRequiredOwners(inputs.framing)));
  for (const RiskBar& risk : inputs.risks) {
    texts.push_back(risk.share ? fmt::format("{}: {:.1f} % ({})", risk.name,
                                             100 * *risk.share, risk.basis)
                               : fmt::format("{}: {}", risk.name, risk.basis));
  }
  return Join(texts);
}

std::string RerunArtifacts(const ReviewInputs& inputs) {
  std::vector<std::string> texts;
  for (const char* name : kRerunArtifacts) {
    const Artifact* artifact = FindArtifact(inputs.artifacts, name);
    texts.push_back(artifact != nullptr ? CiteArtifact(*artifact)
                                        : fmt::format("{} (not in this review)", name));
  }
  return Join(texts);
}

std::string FinalDecision(const PolicyOutcome& outcome) {
  return fmt::format("{}: {}", ToString(outcome.decision), outcome.reasons.back());
}

std::string PrimaryMetric(const ReviewInputs& inputs, const Subject& subject) {
  return fmt::format("{}; trend: {}", DescribeRequirement(*subject.requirement),
                     DescribeTrend(inputs.primary_history));
}

std::string FailingLayer(const ReviewInputs& inputs) {
  return fmt::format("{}: {}", inputs.diagnosis.layer, inputs.diagnosis.reason);
}

}  // namespace

base::Result<ReviewMemo> BuildReviewMemo(const ReviewInputs& inputs,
                                         const PolicyOutcome& outcome) {
  SS_TRY(const Subject subject, FindSubject(inputs));
  ReviewMemo memo;
  memo.watched_metrics = WatchedMetrics(inputs);
  memo.failing_slice = FailingSlice(inputs, subject);
  memo.failing_layer = FailingLayer(inputs);
  memo.primary_mechanism = Mechanism(inputs, subject);
  memo.competing_hypotheses = CompetingHypotheses(inputs, subject);
  memo.missing_evidence = MissingEvidence(inputs);
  memo.minimal_change = MinimalChange(inputs, subject, outcome.decision);
  memo.expected_movement = ExpectedMovement(inputs, subject);
  memo.regression_risk = RegressionRisk(inputs, subject);
  memo.rerun_artifacts = RerunArtifacts(inputs);
  memo.required_owners = NameRequiredOwners(inputs.framing);
  memo.final_decision = FinalDecision(outcome);
  SS_RETURN_IF_ERROR(
      RequireFields("review memo", {{"watched metrics", memo.watched_metrics},
                                    {"failing workload slice", memo.failing_slice},
                                    {"diagnosis reason", inputs.diagnosis.reason},
                                    {"required owners", memo.required_owners}}));
  return memo;
}

base::Result<DecisionMemo> BuildDecisionMemo(const ReviewInputs& inputs,
                                             const PolicyOutcome& outcome) {
  SS_TRY(const Subject subject, FindSubject(inputs));
  DecisionMemo memo;
  memo.metric = PrimaryMetric(inputs, subject);
  memo.root_cause = subject.cause != nullptr
                        ? fmt::format("{} layer: {}", subject.cause->layer,
                                      Mechanism(inputs, subject))
                        : FailingLayer(inputs);
  memo.fix = MinimalChange(inputs, subject, outcome.decision);
  memo.validation = fmt::format(
      "{} requirements: {}; on {} {} ({} needed); run again after any change: {}",
      inputs.requirements.size(), CountVerdicts(inputs.requirements),
      inputs.test_groups, inputs.group_word, inputs.min_groups, RerunArtifacts(inputs));
  const std::string signers = NameRequiredOwners(inputs.framing);
  memo.owners = signers.empty()
                    ? ""
                    : fmt::format("{} acts; to sign: {}", subject.owner, signers);
  SS_RETURN_IF_ERROR(RequireFields(
      "decision memo",
      {{"diagnosis reason", inputs.diagnosis.reason}, {"owners", memo.owners}}));
  return memo;
}

base::Result<Capsule> BuildCapsule(const ReviewInputs& inputs,
                                   const PolicyOutcome& outcome) {
  SS_TRY(const Subject subject, FindSubject(inputs));
  Capsule capsule;
  capsule.path = inputs.framing.path;
  capsule.workload_slice = FailingSlice(inputs, subject);
  if (!capsule.workload_slice.empty()) {
    capsule.workload_slice = inputs.workload + "; " + capsule.workload_slice;
  }
  capsule.primary_metric = PrimaryMetric(inputs, subject);
  capsule.failing_layer = inputs.diagnosis.layer;
  capsule.owner = subject.owner;
  capsule.primary_artifact =
      fmt::format("{} ({})", subject.artifact->name, subject.artifact->path);
  capsule.primary_artifact_sha256 = subject.artifact->sha256;
  capsule.decision = ToString(outcome.decision);
  SS_RETURN_IF_ERROR(
      RequireFields("evidence capsule", {{"path", capsule.path},
                                         {"workload slice", capsule.workload_slice},
                                         {"first failing layer", capsule.failing_layer},
                                         {"owner", capsule.owner}}));
  return capsule;
}

}  // namespace stepslack::evidence

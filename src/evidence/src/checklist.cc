#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "stepslack/base/text.h"
#include "stepslack/diagnose/catalogue.h"
#include "stepslack/evidence/documents.h"
#include "wording.h"

namespace stepslack::evidence {
namespace {

using base::Verdict;

int Severity(Verdict verdict) {
  switch (verdict) {
    case Verdict::kMet:
      return 0;
    case Verdict::kInconclusive:
      return 1;
    case Verdict::kNotRun:
      return 2;
    case Verdict::kError:
      return 3;
    case Verdict::kViolated:
      return 4;
  }
  return 4;
}

Verdict Worse(Verdict a, Verdict b) { return Severity(a) >= Severity(b) ? a : b; }

std::string Join(const std::vector<std::string>& texts) {
  return fmt::format("{}", fmt::join(texts, "; "));
}

// Met when nothing is missing; the proof is what was found, or what was not.
void Settle(ChecklistItem& item, const std::vector<std::string>& missing,
            const std::vector<std::string>& found) {
  item.verdict = missing.empty() ? Verdict::kMet : Verdict::kViolated;
  item.proof = missing.empty() ? Join(found) : "missing: " + Join(missing);
}

ChecklistItem Context(const ReviewInputs& inputs) {
  ChecklistItem item;
  item.id = "context";
  item.text = "metric context includes workload, dataset slice and revision tags";
  std::vector<std::string> missing;
  std::vector<std::string> found = {"workload: " + inputs.workload};
  if (base::Trim(inputs.workload).empty()) missing.emplace_back("workload");
  if (inputs.worst_slice) {
    found.push_back("worst slice " + Describe(*inputs.worst_slice));
    item.artifact = inputs.worst_slice->artifact;
  } else {
    missing.emplace_back("dataset slice");
  }
  const Tags& tags = inputs.tags;
  for (const auto& [name, tag] :
       std::initializer_list<std::pair<const char*, std::string>>{
           {"dataset", tags.dataset},
           {"model", tags.model},
           {"runtime", tags.runtime},
           {"hardware", tags.hardware}}) {
    if (IsDigest(tag)) {
      found.push_back(fmt::format("{} tag {}", name, ShortDigest(tag)));
    } else {
      missing.push_back(fmt::format("{} tag (a digest of 64 digits)", name));
    }
  }
  Settle(item, missing, found);
  return item;
}

// How the model stands against the baselines, when that was measured.
std::string BehaviourOf(const diagnose::Facts& facts) {
  std::string text;
  for (const auto& [fact, name] :
       std::initializer_list<std::pair<const char*, const char*>>{
           {"quality.vs_linear", "linear baseline"},
           {"quality.vs_constant", "constant predictor"}}) {
    const auto found = facts.find(fact);
    if (found == facts.end() || !found->second.estimate.value) continue;
    text += fmt::format("; its error is {} x that of the {}",
                        base::Human(*found->second.estimate.value), name);
  }
  return text;
}

ChecklistItem Mechanism(const ReviewInputs& inputs) {
  const diagnose::Diagnosis& diagnosis = inputs.diagnosis;
  ChecklistItem item;
  item.id = "mechanism";
  item.text = "mechanism explanation links model behaviour to the observed outcome";
  item.artifact = inputs.primary_artifact;
  const auto count = [&](diagnose::CauseState state) {
    return std::ranges::count(diagnosis.causes, state, &diagnose::CauseFinding::state);
  };
  const auto supported = count(diagnose::CauseState::kSupported);
  const auto refuted = count(diagnose::CauseState::kRefuted);
  item.proof =
      fmt::format("{}; of {} causes {} are supported, {} refuted, {} undecided{}",
                  diagnosis.reason, diagnosis.causes.size(), supported, refuted,
                  count(diagnose::CauseState::kUndecided), BehaviourOf(inputs.facts));
  if (diagnosis.causes.empty()) {
    item.verdict = Verdict::kNotRun;
    item.proof = "the root-cause tree was not walked";
  } else if (supported + refuted == 0 ||
             (diagnosis.regressed && diagnosis.primary.empty())) {
    item.verdict = Verdict::kInconclusive;
  } else {
    item.verdict = Verdict::kMet;
  }
  return item;
}

ChecklistItem Profiled(const ReviewInputs& inputs) {
  const ProfileFacts& profile = inputs.profile;
  ChecklistItem item;
  item.id = "profiled";
  item.text = "hardware/runtime feasibility is profiled, not assumed";
  item.artifact = profile.artifact;
  const std::optional<base::Estimate>& latency = profile.model_latency;
  if (!latency || !latency->value) {
    item.verdict = Verdict::kNotRun;
    item.proof = "the latency of the model was not measured";
    return item;
  }
  item.proof = fmt::format("latency: {}; power: {}", CompareLatency(profile),
                           ComparePower(profile));
  if (profile.peak_memory && profile.peak_memory->value) {
    item.proof += "; peak memory: " + base::Describe(*profile.peak_memory);
  }
  if (FindArtifact(inputs.artifacts, profile.artifact) == nullptr) {
    item.verdict = Verdict::kViolated;
    item.proof += fmt::format("; but the artifact `{}` is not there", profile.artifact);
  } else {
    item.verdict =
        latency->low && latency->high ? Verdict::kMet : Verdict::kInconclusive;
  }
  return item;
}

ChecklistItem OwnerAndRollback(const ReviewInputs& inputs) {
  const Framing& framing = inputs.framing;
  ChecklistItem item;
  item.id = "owner-rollback";
  item.text = "owner and rollback path are documented before rollout";
  item.artifact = "rollback plan";
  std::vector<std::string> missing;
  std::vector<std::string> found;
  for (const char* role : kRequiredOwners) {
    const std::string name = NameOwner(framing, role);
    (name == role ? missing : found).push_back(name);
  }
  if (framing.rollback_steps.empty()) {
    missing.emplace_back("rollback steps");
  } else {
    found.push_back(fmt::format("{} rollback step(s), first: {}",
                                framing.rollback_steps.size(),
                                framing.rollback_steps.front()));
  }
  if (base::Trim(framing.rollback_trigger).empty()) {
    missing.emplace_back("rollback trigger");
  } else {
    found.push_back("trigger: " + framing.rollback_trigger);
  }
  Settle(item, missing, found);
  return item;
}

Verdict ToVerdict(diagnose::PredicateState state) {
  switch (state) {
    case diagnose::PredicateState::kHolds:
      return Verdict::kMet;
    case diagnose::PredicateState::kRefuted:
      return Verdict::kViolated;
    case diagnose::PredicateState::kStraddles:
      return Verdict::kInconclusive;
    case diagnose::PredicateState::kMissing:
      return Verdict::kNotRun;
  }
  return Verdict::kNotRun;
}

// The worst of the requirements of `category` and of the facts that were measured; not
// run when there is neither.
void JudgeTogether(const ReviewInputs& inputs, std::string_view category,
                   std::span<const diagnose::Predicate> predicates,
                   ChecklistItem& item) {
  std::optional<Verdict> worst;
  std::vector<std::string> proofs;
  for (const GatedRequirement& gated : inputs.requirements) {
    if (gated.category != category) continue;
    worst = Worse(worst.value_or(Verdict::kMet), gated.result.slack.verdict);
    proofs.push_back(DescribeRequirement(gated.result));
    item.artifact = gated.result.artifact;
  }
  for (const diagnose::Predicate& predicate : predicates) {
    const auto state = diagnose::Judge(predicate, inputs.facts);
    if (state == diagnose::PredicateState::kMissing) continue;
    worst = Worse(worst.value_or(Verdict::kMet), ToVerdict(state));
    proofs.push_back(diagnose::Describe(predicate, state, inputs.facts));
    item.artifact = inputs.facts.find(predicate.fact)->second.artifact;
  }
  item.verdict = worst.value_or(Verdict::kNotRun);
  item.proof = proofs.empty() ? "nothing about it was measured" : Join(proofs);
}

ChecklistItem LeakFree(const ReviewInputs& inputs) {
  using diagnose::Operator;
  const std::array<diagnose::Predicate, 2> clean = {
      diagnose::Predicate{"split.leaked_rows", Operator::kAtMost, 0},
      diagnose::Predicate{"split.group_overlap", Operator::kAtMost, 0}};
  ChecklistItem item;
  item.id = "leak-free";
  item.text = "the split is free of leaks";
  JudgeTogether(inputs, "leak", clean, item);
  return item;
}

ChecklistItem Reproducible(const ReviewInputs& inputs) {
  using diagnose::Operator;
  const std::array<diagnose::Predicate, 3> equal = {
      diagnose::Predicate{"repro.order_equal", Operator::kEqual, 1},
      diagnose::Predicate{"repro.parameters_equal", Operator::kEqual, 1},
      diagnose::Predicate{"repro.predictions_equal", Operator::kEqual, 1}};
  ChecklistItem item;
  item.id = "reproducible";
  item.text = "a repeated run gives the same result";
  JudgeTogether(inputs, "reproducibility", equal, item);
  return item;
}

}  // namespace

std::vector<ChecklistItem> BuildChecklist(const ReviewInputs& inputs) {
  return {Context(inputs),          Mechanism(inputs), Profiled(inputs),
          OwnerAndRollback(inputs), LeakFree(inputs),  Reproducible(inputs)};
}

}  // namespace stepslack::evidence

// Builds every document of a review from measured inputs. All wording is computed from
// the numbers; a required field that would be empty is refused (EVID-0001), never
// filled with a placeholder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stepslack/base/result.h"
#include "stepslack/diagnose/facts.h"
#include "stepslack/evidence/policy.h"
#include "stepslack/evidence/review.h"

namespace stepslack::evidence {

// A measurement under the name that people read.
struct NamedEstimate {
  std::string label;  // "scaling efficiency, 2 ranks, strong"
  base::Estimate estimate;
  std::string artifact;  // name of the artifact that proves it
};

// Deployment measurements. An absent one was not measured; `power_note` then says why
// power is not there (a machine without energy counters, for instance).
struct ProfileFacts {
  std::optional<base::Estimate> model_latency, reference_latency;
  std::optional<base::Estimate> model_energy, reference_energy;
  std::optional<base::Estimate> peak_memory;
  std::string reference_name;  // "exact solver"
  std::string power_note;
  std::string artifact;  // "runtime profile"
};

struct ReviewInputs {
  Framing framing;
  Tags tags;
  std::string created_utc;
  std::string workload;  // "U-Net, 117 thousand parameters, 64x64 maps, 2 ranks"
  std::vector<GatedRequirement> requirements;
  std::string primary_requirement;  // id; its estimate is the primary metric
  // The primary metric over the iterations of this work, oldest first (baseline, fix,
  // now): gives the trend. May be empty.
  std::vector<NamedEstimate> primary_history;
  // Scaling efficiency, communication overhead, time-to-accuracy, ...
  std::vector<NamedEstimate> watched;
  std::optional<NamedEstimate> worst_slice;  // in the unit of the primary metric
  std::optional<NamedEstimate> calibration;
  std::optional<NamedEstimate> signoff_correlation;
  ProfileFacts profile;
  diagnose::Facts facts;  // split.* and repro.* prove two items of the checklist
  diagnose::Diagnosis diagnosis;
  std::vector<RiskBar> risks;
  std::vector<Artifact> artifacts;
  std::string primary_artifact;  // name of one of them
  bool baseline_in_production = false;
  int64_t test_groups = 0;
  int64_t min_groups = kDefaultMinGroups;
  std::string group_word = "families";
};

// The roles that sign.
inline constexpr const char* kRequiredOwners[] = {
    "training infra owner", "cluster engineer", "ML platform lead"};
// What must be run again after a fix.
inline constexpr const char* kRerunArtifacts[] = {
    "multi-node training log", "scaling efficiency chart", "comms profile"};

// Six items: context, mechanism, profiled, owner-and-rollback, leak-free, reproducible.
std::vector<ChecklistItem> BuildChecklist(const ReviewInputs& inputs);

// Four prompts and the senior question, answered.
std::vector<PromptAnswer> BuildPrompts(const ReviewInputs& inputs,
                                       const PolicyOutcome& outcome);

base::Result<ReviewMemo> BuildReviewMemo(const ReviewInputs& inputs,
                                         const PolicyOutcome& outcome);
base::Result<DecisionMemo> BuildDecisionMemo(const ReviewInputs& inputs,
                                             const PolicyOutcome& outcome);
base::Result<Capsule> BuildCapsule(const ReviewInputs& inputs,
                                   const PolicyOutcome& outcome);

// Checklist, decision and all documents. Errors: EVID-0001 a required field is empty,
// EVID-0002 the primary requirement does not exist, EVID-0003 nor does the artifact.
base::Result<Review> BuildReview(const ReviewInputs& inputs);

}  // namespace stepslack::evidence

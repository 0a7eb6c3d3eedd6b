// The policy: which of the four decisions follows from requirements, checklist and
// facts. It fails closed; docs/decision_policy.md states the same rules with examples.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "stepslack/evidence/review.h"

namespace stepslack::evidence {

// How far a requirement must be met: needed for ship, or even for a pilot.
enum class Gate { kShip, kPilot };

// A requirement with its result and what the policy must know about it.
struct GatedRequirement {
  RequirementResult result;
  std::string category;  // one of diagnose::KnownCategories()
  Gate gate = Gate::kShip;
};

inline constexpr int64_t kDefaultMinGroups = 10;

struct PolicyInputs {
  std::vector<GatedRequirement> requirements;
  std::vector<ChecklistItem> checklist;
  // The candidate replaces something that runs in production today.
  bool baseline_in_production = false;
  bool rollback_documented = false;  // steps and trigger are written down
  int64_t test_groups = 0;           // independent designs or families in the test set
  int64_t min_groups = kDefaultMinGroups;
  std::string group_word = "families";
};

struct PolicyOutcome {
  Decision decision = Decision::kEscalate;
  std::string rule;  // "P4": row of docs/decision_policy.md
  // Sentences with numbers; the last one says why this decision follows.
  std::vector<std::string> reasons;
};

// Rules, the first that applies decides:
//   P1  no requirement is stated: escalate.
//   P2  a leak or integrity requirement is violated: rollback when a baseline runs in
//       production, else escalate.
//   P3  a quality requirement is violated: rollback (the fallback is kept) when the way
//       back is documented, else escalate.
//   P4  a requirement is in error or was not run, a checklist item is not met, or there
//   is
//       no checklist: escalate.
//   P5  any other requirement is violated: escalate.
//   P6  all requirements are met, quality is among them, and there are at least
//       `min_groups` test groups: ship.
//   P7  what is open is inconclusive or a test set that is too small; no requirement
//   that a
//       pilot needs is open; leak and quality requirements exist and are met; the way
//       back is documented: bounded pilot.
//   P8  else: escalate.
PolicyOutcome Decide(const PolicyInputs& inputs);

// "MAE on unseen families: 0.231 mV [0.214, 0.25] (95 %, n = 12 families) against at
// most 0.22 mV: violated, slack -5 %".
std::string DescribeRequirement(const RequirementResult& result);

}  // namespace stepslack::evidence

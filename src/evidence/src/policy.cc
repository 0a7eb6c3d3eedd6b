#include "stepslack/evidence/policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "stepslack/base/text.h"

namespace stepslack::evidence {
namespace {

using base::Verdict;
using Predicate = std::function<bool(const GatedRequirement&)>;

Verdict VerdictOf(const GatedRequirement& r) { return r.result.slack.verdict; }

bool IsUnmeasured(const GatedRequirement& r) {
  return VerdictOf(r) == Verdict::kError || VerdictOf(r) == Verdict::kNotRun;
}

bool IsLeak(const GatedRequirement& r) {
  return r.category == "leak" || r.category == "integrity";
}

// The state of all the inputs, counted once.
class Ledger {
 public:
  explicit Ledger(const PolicyInputs& inputs) : inputs_(inputs) {}

  int64_t Count(const Predicate& predicate) const {
    return std::ranges::count_if(inputs_.requirements, predicate);
  }

  int64_t Violated(const Predicate& kind) const {
    return Count([&](const GatedRequirement& r) {
      return kind(r) && VerdictOf(r) == Verdict::kViolated;
    });
  }

  // At least one requirement of this category, and every one of them is met.
  bool AllMet(std::string_view category) const {
    const int64_t all =
        Count([&](const GatedRequirement& r) { return r.category == category; });
    const int64_t met = Count([&](const GatedRequirement& r) {
      return r.category == category && VerdictOf(r) == Verdict::kMet;
    });
    return all > 0 && met == all;
  }

  // An empty checklist proves nothing, so it counts as one open item.
  int64_t ChecklistOpen() const {
    if (inputs_.checklist.empty()) return 1;
    return std::ranges::count_if(inputs_.checklist, [](const ChecklistItem& item) {
      return item.verdict != Verdict::kMet;
    });
  }

  int64_t Met() const {
    return Count(
        [](const GatedRequirement& r) { return VerdictOf(r) == Verdict::kMet; });
  }

  int64_t PilotOpen() const {
    return Count([](const GatedRequirement& r) {
      return r.gate == Gate::kPilot && VerdictOf(r) != Verdict::kMet;
    });
  }

  bool EnoughGroups() const { return inputs_.test_groups >= inputs_.min_groups; }

 private:
  const PolicyInputs& inputs_;
};

std::string SizeSentence(const PolicyInputs& inputs) {
  return fmt::format("the test set holds {} {}; at least {} are needed to ship",
                     inputs.test_groups, inputs.group_word, inputs.min_groups);
}

// One sentence for everything that is not as it should be, worst kind first.
std::vector<std::string> Findings(const PolicyInputs& inputs) {
  std::vector<std::string> sentences;
  for (const Verdict verdict : {Verdict::kViolated, Verdict::kError, Verdict::kNotRun,
                                Verdict::kInconclusive}) {
    for (const GatedRequirement& r : inputs.requirements) {
      if (VerdictOf(r) == verdict) sentences.push_back(DescribeRequirement(r.result));
    }
  }
  for (const ChecklistItem& item : inputs.checklist) {
    if (item.verdict == Verdict::kMet) continue;
    sentences.push_back(fmt::format("checklist, {}: {} ({})", item.text,
                                    base::ToString(item.verdict), item.proof));
  }
  if (inputs.test_groups < inputs.min_groups) sentences.push_back(SizeSentence(inputs));
  return sentences;
}

PolicyOutcome Rule(std::string_view rule, Decision decision, std::string reason) {
  PolicyOutcome outcome;
  outcome.decision = decision;
  outcome.rule = rule;
  outcome.reasons.push_back(fmt::format("rule {}: {}, so the decision is {}", rule,
                                        reason, ToString(decision)));
  return outcome;
}

// P2 and P3: what must not stay in the flow.
std::optional<PolicyOutcome> RejectHarm(const PolicyInputs& inputs,
                                        const Ledger& ledger) {
  if (const int64_t leaks = ledger.Violated(IsLeak); leaks > 0) {
    const std::string what =
        fmt::format("{} leak or integrity requirement(s) violated", leaks);
    if (inputs.baseline_in_production) {
      return Rule("P2", Decision::kRollback,
                  what + " and a baseline runs in production");
    }
    return Rule("P2", Decision::kEscalate,
                what + " and nothing runs in production that could be returned to");
  }
  const int64_t quality = ledger.Violated(
      [](const GatedRequirement& r) { return r.category == "quality"; });
  if (quality == 0) return std::nullopt;
  const std::string what = fmt::format("{} quality requirement(s) violated", quality);
  if (!inputs.rollback_documented) {
    return Rule("P3", Decision::kEscalate, what + " and no way back is documented");
  }
  return Rule("P3", Decision::kRollback,
              what + (inputs.baseline_in_production
                          ? " and the baseline stays in production"
                          : " and the documented fallback stays in the flow"));
}

// P4 and P5: what a person must look at.
std::optional<PolicyOutcome> HandOver(const Ledger& ledger) {
  const int64_t unmeasured = ledger.Count(IsUnmeasured);
  const int64_t checklist = ledger.ChecklistOpen();
  if (unmeasured + checklist > 0) {
    return Rule("P4", Decision::kEscalate,
                fmt::format("{} requirement(s) could not be measured and {} checklist "
                            "item(s) are not met",
                            unmeasured, checklist));
  }
  const int64_t violated =
      ledger.Violated([](const GatedRequirement&) { return true; });
  if (violated == 0) return std::nullopt;
  return Rule(
      "P5", Decision::kEscalate,
      fmt::format("{} requirement(s) violated that are neither quality nor leak",
                  violated));
}

// P6 to P8: nothing is violated and everything was measured.
PolicyOutcome Release(const PolicyInputs& inputs, const Ledger& ledger) {
  const auto total = static_cast<int64_t>(inputs.requirements.size());
  const int64_t open = total - ledger.Met();
  if (open == 0 && ledger.EnoughGroups() && ledger.AllMet("quality")) {
    return Rule(
        "P6", Decision::kShip,
        fmt::format("all {} requirements and all {} checklist items are met with "
                    "{} {} (at least {} needed)",
                    total, inputs.checklist.size(), inputs.test_groups,
                    inputs.group_word, inputs.min_groups));
  }
  std::vector<std::string> obstacles;
  if (const int64_t pilot = ledger.PilotOpen(); pilot > 0) {
    obstacles.push_back(
        fmt::format("{} requirement(s) that a pilot needs are open", pilot));
  }
  if (!ledger.AllMet("leak"))
    obstacles.emplace_back("the split is not proven leak-free");
  if (!ledger.AllMet("quality")) obstacles.emplace_back("quality is not proven");
  if (!inputs.rollback_documented) obstacles.emplace_back("no way back is documented");
  const std::string state =
      open > 0 ? fmt::format("{} of {} requirements are inconclusive", open, total)
               : fmt::format("all {} requirements are met with {} {} tested, {} needed",
                             total, inputs.test_groups, inputs.group_word,
                             inputs.min_groups);
  if (obstacles.empty()) {
    return Rule(
        "P7", Decision::kBoundedPilot,
        state + "; quality and leak-freedom are met and the way back is documented");
  }
  return Rule("P8", Decision::kEscalate,
              fmt::format("{}; {}", state, fmt::join(obstacles, "; ")));
}

PolicyOutcome Apply(const PolicyInputs& inputs) {
  if (inputs.requirements.empty()) {
    return Rule("P1", Decision::kEscalate, "no requirement is stated");
  }
  const Ledger ledger(inputs);
  if (auto harm = RejectHarm(inputs, ledger)) return *harm;
  if (auto handed = HandOver(ledger)) return *handed;
  return Release(inputs, ledger);
}

}  // namespace

std::string_view ToString(Decision decision) {
  switch (decision) {
    case Decision::kShip:
      return "ship";
    case Decision::kRollback:
      return "rollback";
    case Decision::kBoundedPilot:
      return "bounded pilot";
    case Decision::kEscalate:
      return "escalate";
  }
  return "escalate";
}

std::string DescribeRequirement(const RequirementResult& result) {
  const base::Requirement& requirement = result.requirement;
  const base::Slack& slack = result.slack;
  const std::string measured =
      result.estimate ? base::Describe(*result.estimate) : "not measured";
  const std::string unit =
      requirement.unit == "1" || requirement.unit.empty() ? "" : " " + requirement.unit;
  std::string text = fmt::format(
      "{}: {} against {} {}{}: {}", requirement.title, measured,
      requirement.direction == base::Direction::kAtLeast ? "at least" : "at most",
      base::Human(requirement.bound), unit, base::ToString(slack.verdict));
  if (slack.percent) {
    text += fmt::format(", slack {:+.1f} %", *slack.percent);
  } else if (slack.margin) {
    text += fmt::format(", slack {}{}", base::Human(*slack.margin), unit);
  }
  if (slack.samples_to_decide && result.estimate) {
    text += fmt::format(", about {} {} in all would decide", *slack.samples_to_decide,
                        result.estimate->n_of);
  }
  return text;
}

PolicyOutcome Decide(const PolicyInputs& inputs) {
  PolicyOutcome outcome = Apply(inputs);
  std::vector<std::string> reasons = Findings(inputs);
  reasons.insert(reasons.end(), outcome.reasons.begin(), outcome.reasons.end());
  outcome.reasons = std::move(reasons);
  return outcome;
}

}  // namespace stepslack::evidence

#include "stepslack/evidence/policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <ostream>
#include <string>
#include <vector>

#include "example_review.h"

namespace stepslack::evidence {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

ChecklistItem Item(base::Verdict verdict) {
  ChecklistItem item;
  item.id = "context";
  item.text = "the context is there";
  item.verdict = verdict;
  item.proof = "3 tags of 4";
  return item;
}

constexpr base::Verdict kMet = base::Verdict::kMet;

// Bound 1: met, inconclusive, violated.
GatedRequirement Met(const std::string& category, Gate gate = Gate::kShip) {
  return AtMostOne("met " + category, category, 0.5, 0.9, gate);
}
GatedRequirement Open(const std::string& category, Gate gate = Gate::kShip) {
  return AtMostOne("open " + category, category, 0.5, 1.2, gate);
}
GatedRequirement Violated(const std::string& category) {
  return AtMostOne("violated " + category, category, 1.2, 1.4);
}

PolicyInputs Make(const std::vector<GatedRequirement>& requirements) {
  PolicyInputs inputs;
  inputs.requirements = requirements;
  inputs.checklist = {Item(kMet)};
  inputs.rollback_documented = true;
  inputs.test_groups = 12;
  return inputs;
}

struct Row {
  std::string name;
  std::vector<GatedRequirement> requirements;
  std::string rule;
  Decision decision;
  bool in_production = false;
  bool way_back = true;
  int64_t groups = 12;
  base::Verdict checklist = kMet;
};

void PrintTo(const Row& row, std::ostream* out) { *out << row.name; }

class Policy : public ::testing::TestWithParam<Row> {};

TEST_P(Policy, FollowsItsRule) {
  const Row& row = GetParam();
  PolicyInputs inputs = Make(row.requirements);
  inputs.baseline_in_production = row.in_production;
  inputs.rollback_documented = row.way_back;
  inputs.test_groups = row.groups;
  inputs.checklist = {Item(row.checklist)};
  const PolicyOutcome outcome = Decide(inputs);
  EXPECT_EQ(outcome.rule, row.rule);
  EXPECT_EQ(outcome.decision, row.decision) << outcome.reasons.back();
  EXPECT_THAT(outcome.reasons.back(), HasSubstr("rule " + row.rule + ": "));
  EXPECT_THAT(outcome.reasons.back(),
              HasSubstr("so the decision is " + std::string(ToString(row.decision))));
}

const GatedRequirement kQ = Met("quality");
const GatedRequirement kL = Met("leak");
const GatedRequirement kE = Met("efficiency");

INSTANTIATE_TEST_SUITE_P(
    All, Policy,
    ::testing::Values(
        Row{"nothing_required", {}, "P1", Decision::kEscalate},
        Row{"leak_in_production",
            {kQ, Violated("leak")},
            "P2",
            Decision::kRollback,
            true},
        Row{"leak_before_production",
            {kQ, Violated("leak")},
            "P2",
            Decision::kEscalate},
        Row{"integrity_in_production",
            {kQ, Violated("integrity")},
            "P2",
            Decision::kRollback,
            true},
        Row{"leak_goes_before_quality_and_errors",
            {Violated("quality"), Violated("leak"), NotRun("x", "latency")},
            "P2",
            Decision::kEscalate},
        Row{"quality_violated", {Violated("quality"), kL}, "P3", Decision::kRollback},
        Row{"quality_violated_in_production",
            {Violated("quality"), kL},
            "P3",
            Decision::kRollback,
            true},
        Row{"quality_violated_no_way_back",
            {Violated("quality"), kL},
            "P3",
            Decision::kEscalate,
            true,
            false},
        Row{"not_run", {kQ, kL, NotRun("x", "latency")}, "P4", Decision::kEscalate},
        Row{"checklist_open",
            {kQ, kL},
            "P4",
            Decision::kEscalate,
            false,
            true,
            12,
            base::Verdict::kNotRun},
        Row{"checklist_inconclusive",
            {kQ, kL},
            "P4",
            Decision::kEscalate,
            false,
            true,
            12,
            base::Verdict::kInconclusive},
        Row{"efficiency_violated",
            {kQ, kL, Violated("efficiency")},
            "P5",
            Decision::kEscalate},
        Row{"all_met", {kQ, kL, kE}, "P6", Decision::kShip},
        Row{"all_met_ten_groups", {kQ, kL}, "P6", Decision::kShip, false, true, 10},
        Row{"all_met_nine_groups",
            {kQ, kL},
            "P7",
            Decision::kBoundedPilot,
            false,
            true,
            9},
        Row{"groups_unknown", {kQ, kL}, "P7", Decision::kBoundedPilot, false, true, 0},
        Row{"all_met_without_quality", {kL, kE}, "P8", Decision::kEscalate},
        Row{"efficiency_open",
            {kQ, kL, Open("efficiency")},
            "P7",
            Decision::kBoundedPilot},
        Row{"pilot_gate_open",
            {kQ, kL, Open("efficiency", Gate::kPilot)},
            "P8",
            Decision::kEscalate},
        Row{"pilot_gate_met",
            {kQ, kL, Met("latency", Gate::kPilot), Open("efficiency")},
            "P7",
            Decision::kBoundedPilot},
        Row{"quality_open", {Open("quality"), kL}, "P8", Decision::kEscalate},
        Row{"one_of_two_quality_open",
            {kQ, Open("quality"), kL},
            "P8",
            Decision::kEscalate},
        Row{"leak_open", {kQ, Open("leak")}, "P8", Decision::kEscalate},
        Row{"no_leak_requirement", {kQ, Open("efficiency")}, "P8", Decision::kEscalate},
        Row{"pilot_without_way_back",
            {kQ, kL, Open("efficiency")},
            "P8",
            Decision::kEscalate,
            false,
            false}),
    [](const auto& row) { return row.param.name; });

TEST(PolicyEdge, EmptyChecklistNeverShips) {
  PolicyInputs inputs = Make({kQ, kL});
  inputs.checklist.clear();
  EXPECT_EQ(Decide(inputs).rule, "P4");
}

TEST(PolicyEdge, ErrorVerdictEscalates) {
  GatedRequirement broken = Met("latency");
  broken.result.estimate->value.reset();
  broken.result.slack =
      base::Evaluate(broken.result.requirement, broken.result.estimate);
  ASSERT_EQ(broken.result.slack.verdict, base::Verdict::kError);
  EXPECT_EQ(Decide(Make({kQ, kL, broken})).rule, "P4");
}

TEST(PolicyEdge, ReasonsCarryTheNumbersOfWhatIsOpen) {
  PolicyInputs inputs = Make({kQ, kL, Open("efficiency")});
  inputs.test_groups = 6;
  const std::vector<std::string> reasons = Decide(inputs).reasons;
  // (0.5, 1.2): half width 0.35, margin 0.15, n = 12: 12 (0.35 / 0.15)^2 = 65.3.
  EXPECT_THAT(
      reasons,
      Contains("title of open efficiency: 0.85 mV [0.5, 1.2] (95 %, n = 12 "
               "families) against at most 1 mV: inconclusive, slack +15.0 %, about "
               "66 families in all would decide"));
  EXPECT_THAT(reasons,
              Contains("the test set holds 6 families; at least 10 are needed to "
                       "ship"));
}

TEST(PolicyEdge, ReasonsQuoteTheChecklistItemThatIsOpen) {
  PolicyInputs inputs = Make({kQ, kL});
  inputs.checklist = {Item(base::Verdict::kViolated)};
  EXPECT_THAT(Decide(inputs).reasons,
              Contains("checklist, the context is there: violated (3 tags of 4)"));
}

// Fail closed: whatever the mixture, ship needs every requirement and item met.
RC_GTEST_PROP(PolicyProperty, ShipsOnlyWhenEverythingIsMet, ()) {
  const std::vector<std::string> categories = {"quality", "leak", "efficiency",
                                               "latency"};
  PolicyInputs inputs = Make({});
  bool all_met = true;
  const int count = *rc::gen::inRange(0, 6);
  for (int i = 0; i < count; ++i) {
    const std::string category = *rc::gen::elementOf(categories);
    const int state = *rc::gen::inRange(0, 5);
    all_met = all_met && state <= 1;
    if (state <= 1) inputs.requirements.push_back(Met(category));
    if (state == 2) inputs.requirements.push_back(Open(category));
    if (state == 3) inputs.requirements.push_back(Violated(category));
    if (state == 4) inputs.requirements.push_back(NotRun("x", category));
  }
  inputs.test_groups = *rc::gen::inRange<int64_t>(0, 20);
  inputs.rollback_documented = *rc::gen::arbitrary<bool>();
  inputs.baseline_in_production = *rc::gen::arbitrary<bool>();
  const bool checklist_met = *rc::gen::arbitrary<bool>();
  inputs.checklist = {Item(checklist_met ? kMet : base::Verdict::kError)};
  const PolicyOutcome outcome = Decide(inputs);
  RC_ASSERT(!outcome.reasons.empty());
  if (outcome.decision == Decision::kShip) {
    RC_ASSERT(all_met && checklist_met && count > 0 && inputs.test_groups >= 10);
  }
  if (outcome.decision == Decision::kBoundedPilot) {
    RC_ASSERT(checklist_met && inputs.rollback_documented);
  }
}

}  // namespace
}  // namespace stepslack::evidence

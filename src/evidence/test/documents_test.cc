#include "stepslack/evidence/documents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "example_review.h"

namespace stepslack::evidence {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Spoil = std::function<void(ReviewInputs&)>;

ChecklistItem Find(const std::vector<ChecklistItem>& items, const std::string& id) {
  const auto found = std::ranges::find(items, id, &ChecklistItem::id);
  return found == items.end() ? ChecklistItem{} : *found;
}

ReviewInputs Regressed() {
  ReviewInputs inputs = ExampleReview();
  inputs.requirements[0] = AtMostOne("mae", "quality", 1.2, 1.4);
  diagnose::CauseFinding& cause = inputs.diagnosis.causes[0];
  cause.state = diagnose::CauseState::kSupported;
  cause.relevant = true;
  cause.evidence = {"split.leaked_rows = 3 (exact, n = 40 rows) > 0"};
  cause.owner = "cluster engineer";
  cause.share_stated = true;
  cause.explained_share = 0.6;
  inputs.diagnosis.layer = "data";
  inputs.diagnosis.primary = "D07";
  inputs.diagnosis.regressed = true;
  inputs.diagnosis.reason = "D07 leaked rows is the first supported cause";
  return inputs;
}

TEST(Documents, ReviewInWhichEverythingIsMetShips) {
  const auto review = BuildReview(ExampleReview());
  ASSERT_TRUE(review.has_value()) << base::Describe(review.error());
  EXPECT_EQ(review->decision, Decision::kShip) << review->decision_reasons.back();
  ASSERT_EQ(review->checklist.size(), 6U);
  for (const ChecklistItem& item : review->checklist) {
    EXPECT_EQ(item.verdict, base::Verdict::kMet) << item.id << ": " << item.proof;
    EXPECT_FALSE(item.proof.empty()) << item.id;
    EXPECT_FALSE(item.artifact.empty()) << item.id;
  }
  ASSERT_EQ(review->prompts.size(), 5U);
  for (const PromptAnswer& prompt : review->prompts) {
    EXPECT_FALSE(prompt.answer.empty()) << prompt.question;
  }
  EXPECT_EQ(review->capsule.decision, "ship");
  EXPECT_EQ(review->capsule.failing_layer, "undetermined");
}

TEST(Documents, TrendComesFromTheHistoryOfThePrimaryMetric) {
  const auto review = BuildReview(ExampleReview());
  ASSERT_TRUE(review.has_value());
  EXPECT_EQ(
      review->capsule.primary_metric,
      "title of mae: 0.8 mV [0.7, 0.9] (95 %, n = 12 families) against at most 1 mV: "
      "met, slack +20.0 %; trend: 1.6 mV (baseline) to 0.8 mV (now), -50.0 % over 1 "
      "step(s)");
}

TEST(Documents, MemoSaysWhenTheSolverIsFaster) {
  const auto review = BuildReview(ExampleReview());
  ASSERT_TRUE(review.has_value());
  EXPECT_THAT(
      review->memo.expected_movement,
      AllOf(HasSubstr("1.5 x, the exact solver is faster"),
            HasSubstr("power: not measured, no energy counter on this machine")));
}

TEST(Documents, MemoComparesTheWorstSliceWithTheWhole) {
  const auto review = BuildReview(ExampleReview());
  ASSERT_TRUE(review.has_value());
  EXPECT_EQ(review->memo.failing_slice,
            "family 7: 1.2 mV [1, 1.4] (95 %, n = 40 maps), 1.5 x the whole test set");
}

TEST(Documents, RerunArtifactsThatAreAbsentAreNamed) {
  const auto review = BuildReview(ExampleReview());
  ASSERT_TRUE(review.has_value());
  EXPECT_EQ(
      review->memo.rerun_artifacts,
      "multi-node training log (not in this review); scaling efficiency chart (not in "
      "this review); Comms profile (comms.json, sha256 333333333333)");
}

TEST(Documents, RegressionNamesCauseFixAndOwner) {
  const auto review = BuildReview(Regressed());
  ASSERT_TRUE(review.has_value()) << base::Describe(review.error());
  EXPECT_EQ(review->decision, Decision::kRollback);
  EXPECT_EQ(review->capsule.failing_layer, "data");
  EXPECT_EQ(review->capsule.owner, "cluster engineer (Ben)");
  EXPECT_EQ(review->memo.primary_mechanism,
            "D07 leaked rows, because split.leaked_rows = 3 (exact, n = 40 rows) > 0");
  EXPECT_EQ(
      review->memo.minimal_change,
      "freeze the split (data layer, cluster engineer (Ben)); prove it first: score "
      "twice");
  EXPECT_THAT(review->memo.expected_movement,
              AllOf(HasSubstr("title of mae must move from 1.3 to at most 1"),
                    HasSubstr("the cause explains 60 % of the loss")));
  EXPECT_THAT(review->memo.competing_hypotheses,
              HasSubstr("data drift: 0 of 1 causes refuted, supported: D07"));
  EXPECT_THAT(review->decision_memo.root_cause, HasSubstr("data layer: D07"));
  EXPECT_THAT(review->prompts[2].answer, HasSubstr("cluster engineer (Ben): freeze"));
}

TEST(Documents, UndeterminedRegressionProposesAnExperimentNotAFix) {
  ReviewInputs inputs = Regressed();
  inputs.diagnosis.layer = "undetermined";
  inputs.diagnosis.primary = "";
  const auto review = BuildReview(inputs);
  ASSERT_TRUE(review.has_value());
  EXPECT_THAT(review->memo.minimal_change, HasSubstr("no change yet"));
  EXPECT_THAT(review->memo.minimal_change, Not(HasSubstr("freeze")));
  EXPECT_EQ(Find(review->checklist, "mechanism").verdict, base::Verdict::kInconclusive);
}

struct ItemCase {
  std::string name;
  std::string item;
  base::Verdict verdict;
  std::string proof;
  Spoil spoil;
};

void PrintTo(const ItemCase& row, std::ostream* out) { *out << row.name; }

class Checklist : public ::testing::TestWithParam<ItemCase> {};

TEST_P(Checklist, ItemSeesWhatIsWrong) {
  const ItemCase& row = GetParam();
  ReviewInputs inputs = ExampleReview();
  row.spoil(inputs);
  const ChecklistItem item = Find(BuildChecklist(inputs), row.item);
  EXPECT_EQ(item.verdict, row.verdict) << item.proof;
  EXPECT_THAT(item.proof, HasSubstr(row.proof));
}

INSTANTIATE_TEST_SUITE_P(
    All, Checklist,
    ::testing::Values(
        ItemCase{"no_slice", "context", base::Verdict::kViolated,
                 "missing: dataset slice",
                 [](ReviewInputs& r) { r.worst_slice.reset(); }},
        ItemCase{"short_tag", "context", base::Verdict::kViolated, "model tag",
                 [](ReviewInputs& r) { r.tags.model = "v3"; }},
        ItemCase{"no_tree", "mechanism", base::Verdict::kNotRun, "not walked",
                 [](ReviewInputs& r) { r.diagnosis.causes.clear(); }},
        ItemCase{"nothing_decided", "mechanism", base::Verdict::kInconclusive,
                 "1 undecided",
                 [](ReviewInputs& r) {
                   r.diagnosis.causes[0].state = diagnose::CauseState::kUndecided;
                 }},
        ItemCase{"no_latency", "profiled", base::Verdict::kNotRun, "was not measured",
                 [](ReviewInputs& r) { r.profile.model_latency.reset(); }},
        ItemCase{"latency_without_interval", "profiled", base::Verdict::kInconclusive,
                 "12 ms",
                 [](ReviewInputs& r) { r.profile.model_latency->low.reset(); }},
        ItemCase{"profile_not_there", "profiled", base::Verdict::kViolated,
                 "`gone` is not there",
                 [](ReviewInputs& r) { r.profile.artifact = "gone"; }},
        ItemCase{"no_owner", "owner-rollback", base::Verdict::kViolated,
                 "missing: cluster engineer",
                 [](ReviewInputs& r) { r.framing.owners.erase("cluster engineer"); }},
        ItemCase{"no_steps", "owner-rollback", base::Verdict::kViolated,
                 "rollback steps",
                 [](ReviewInputs& r) { r.framing.rollback_steps.clear(); }},
        ItemCase{"no_trigger", "owner-rollback", base::Verdict::kViolated,
                 "rollback trigger",
                 [](ReviewInputs& r) { r.framing.rollback_trigger = " "; }},
        ItemCase{"leaked_rows_beat_the_requirement", "leak-free",
                 base::Verdict::kViolated, "split.leaked_rows = 2",
                 [](ReviewInputs& r) { r.facts["split.leaked_rows"] = One(2); }},
        ItemCase{"leak_requirement_open", "leak-free", base::Verdict::kInconclusive,
                 "title of leak",
                 [](ReviewInputs& r) {
                   r.requirements[1] = AtMostOne("leak", "leak", 0.5, 1.5);
                 }},
        ItemCase{"leak_never_measured", "leak-free", base::Verdict::kNotRun,
                 "nothing about it was measured",
                 [](ReviewInputs& r) {
                   r.facts.clear();
                   r.requirements.erase(r.requirements.begin() + 1);
                 }},
        ItemCase{"parameters_differ", "reproducible", base::Verdict::kViolated,
                 "is not == 1",
                 [](ReviewInputs& r) { r.facts["repro.parameters_equal"] = One(0); }},
        ItemCase{"never_repeated", "reproducible", base::Verdict::kNotRun,
                 "nothing about it was measured",
                 [](ReviewInputs& r) { r.facts.erase("repro.parameters_equal"); }}),
    [](const auto& row) { return row.param.name; });

struct FieldCase {
  std::string name;
  std::string id;
  std::string what;
  Spoil spoil;
};

void PrintTo(const FieldCase& row, std::ostream* out) { *out << row.name; }

class EmptyField : public ::testing::TestWithParam<FieldCase> {};

TEST_P(EmptyField, IsRefused) {
  ReviewInputs inputs = ExampleReview();
  GetParam().spoil(inputs);
  const auto review = BuildReview(inputs);
  ASSERT_FALSE(review.has_value());
  EXPECT_EQ(review.error().id, GetParam().id);
  EXPECT_THAT(review.error().what, HasSubstr(GetParam().what));
  EXPECT_FALSE(review.error().help.empty());
}

INSTANTIATE_TEST_SUITE_P(
    All, EmptyField,
    ::testing::Values(
        FieldCase{"path", "EVID-0001", "`path`",
                  [](ReviewInputs& r) { r.framing.path = ""; }},
        FieldCase{"limits", "EVID-0001", "`limits`",
                  [](ReviewInputs& r) { r.framing.limits = "\n"; }},
        FieldCase{"runtime_tag", "EVID-0001", "`runtime tag`",
                  [](ReviewInputs& r) { r.tags.runtime = ""; }},
        FieldCase{"watched", "EVID-0001", "`watched metrics`",
                  [](ReviewInputs& r) { r.watched.clear(); }},
        FieldCase{"slice", "EVID-0001", "`failing workload slice`",
                  [](ReviewInputs& r) { r.worst_slice.reset(); }},
        FieldCase{"owners", "EVID-0001", "`required owners`",
                  [](ReviewInputs& r) { r.framing.owners.erase("ML platform lead"); }},
        FieldCase{"diagnosis", "EVID-0001", "`diagnosis reason`",
                  [](ReviewInputs& r) { r.diagnosis.reason = ""; }},
        FieldCase{"artifact_path", "EVID-0001", "artifact runtime profile",
                  [](ReviewInputs& r) { r.artifacts[1].path = ""; }},
        FieldCase{"primary_requirement", "EVID-0002", "`maee`",
                  [](ReviewInputs& r) { r.primary_requirement = "maee"; }},
        FieldCase{"primary_artifact", "EVID-0003", "`gone`",
                  [](ReviewInputs& r) { r.primary_artifact = "gone"; }},
        FieldCase{"bad_digest", "EVID-0003", "`split audit`",
                  [](ReviewInputs& r) { r.artifacts[0].sha256 = "12"; }},
        FieldCase{"no_requirement", "EVID-0002", "`mae`",
                  [](ReviewInputs& r) { r.requirements.clear(); }}),
    [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace stepslack::evidence

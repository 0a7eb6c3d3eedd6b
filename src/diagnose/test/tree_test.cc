#include "stepslack/diagnose/tree.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

#include "stepslack/diagnose/fact_names.h"

namespace stepslack::diagnose {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Sketch {
  std::string id, layer, fact;  // supported when fact > 0.1
  std::vector<std::string> affects = {"efficiency"};
  std::vector<std::string> competitors = {};
  std::vector<Explains> explains = {};
};

Catalogue Make(const std::vector<Sketch>& sketches) {
  Catalogue catalogue;
  for (const Sketch& s : sketches) {
    catalogue.causes.push_back({.id = s.id,
                                .layer = s.layer,
                                .title = "title of " + s.id,
                                .affects = s.affects,
                                .when = {{s.fact, Operator::kAbove, 0.1}},
                                .explains = s.explains,
                                .competitors = s.competitors,
                                .discriminating_test = "test of " + s.id,
                                .experiment = "experiment",
                                .fix = "fix of " + s.id,
                                .owner = "cluster engineer"});
  }
  return catalogue;
}

Fact Point(double value) {
  return {base::Exact(value, "1", 1, "runs", "counted"), "profile"};
}

Fact Between(double low, double high) {
  return {{.value = (low + high) / 2,
           .low = low,
           .high = high,
           .unit = "1",
           .n = 9,
           .n_of = "steps",
           .method = "mean"},
          "profile"};
}

const std::vector<FailedRequirement> kEfficiencyFails = {
    {.id = "eff", .metric = "eff", .title = "efficiency", .category = "efficiency"}};

Explains OfEfficiency(const std::string& part) {
  return {
      .category = "efficiency", .part = part, .of_lost = "scaling.strong_efficiency"};
}

TEST(Tree, DataCauseBeatsHardwareCause) {
  const Catalogue catalogue = Make(
      {{"D1", "data", "data.wait_share"}, {"H1", "hardware", "hardware.steal_share"}});
  const Diagnosis diagnosis =
      Diagnose(catalogue,
               {{"data.wait_share", Point(0.3)}, {"hardware.steal_share", Point(0.4)}},
               kEfficiencyFails);
  EXPECT_TRUE(diagnosis.regressed);
  EXPECT_EQ(diagnosis.layer, "data");
  EXPECT_EQ(diagnosis.primary, "D1");
  EXPECT_EQ(diagnosis.path.size(),
            3U);  // regressed?, data?, conclusion: it stops there
  EXPECT_THAT(diagnosis.path.back(), HasSubstr("data"));
}

TEST(Tree, HardwareIsNamedOnceTheEarlierLayersAreRefuted) {
  const Catalogue catalogue = Make(
      {{"D1", "data", "data.wait_share"}, {"H1", "hardware", "hardware.steal_share"}});
  const Diagnosis diagnosis =
      Diagnose(catalogue,
               {{"data.wait_share", Point(0.0)}, {"hardware.steal_share", Point(0.4)}},
               kEfficiencyFails);
  EXPECT_EQ(diagnosis.layer, "hardware");
  EXPECT_EQ(diagnosis.primary, "H1");
  EXPECT_EQ(diagnosis.causes[0].state, CauseState::kRefuted);
  EXPECT_EQ(diagnosis.causes[1].state, CauseState::kSupported);
}

TEST(Tree, SupportedCauseOfAnotherMetricIsNotTheAnswer) {
  const Catalogue catalogue =
      Make({{"D1", "data", "split.leaked_rows", {"leak"}},
            {"R1", "runtime", "runtime.oversubscription", {"efficiency"}}});
  const Diagnosis diagnosis = Diagnose(
      catalogue,
      {{"split.leaked_rows", Point(4)}, {"runtime.oversubscription", Point(2)}},
      kEfficiencyFails);
  EXPECT_EQ(diagnosis.layer, "runtime");
  EXPECT_FALSE(diagnosis.causes[0].relevant);
}

TEST(Tree, AbstainsAndNamesTheMissingFacts) {
  const Catalogue catalogue = Make(
      {{"D1", "data", "data.wait_share"}, {"H1", "hardware", "hardware.steal_share"}});
  const Diagnosis diagnosis = Diagnose(catalogue, {}, kEfficiencyFails);
  EXPECT_TRUE(diagnosis.regressed);
  EXPECT_EQ(diagnosis.layer, "undetermined");
  EXPECT_EQ(diagnosis.primary, "");
  EXPECT_THAT(diagnosis.missing,
              ElementsAre("data.wait_share", "hardware.steal_share"));
  EXPECT_THAT(diagnosis.reason, HasSubstr("0 refuted, 2 undecided"));
}

TEST(Tree, StraddlingIntervalIsUndecidedAndAsksForSamples) {
  const Catalogue catalogue = Make({{"D1", "data", "data.wait_share"}});
  const Diagnosis diagnosis =
      Diagnose(catalogue, {{"data.wait_share", Between(0.05, 0.2)}}, kEfficiencyFails);
  EXPECT_EQ(diagnosis.causes[0].state, CauseState::kUndecided);
  EXPECT_THAT(diagnosis.causes[0].missing, IsEmpty());
  EXPECT_EQ(diagnosis.layer, "undetermined");
  EXPECT_THAT(diagnosis.missing, ElementsAre(HasSubstr("more samples for D1")));
}

TEST(Tree, LayerThatCouldNotBeExaminedBlocksALaterOne) {
  const Catalogue catalogue = Make(
      {{"D1", "data", "data.wait_share"}, {"H1", "hardware", "hardware.steal_share"}});
  const Diagnosis diagnosis =
      Diagnose(catalogue, {{"hardware.steal_share", Point(0.4)}}, kEfficiencyFails);
  EXPECT_EQ(diagnosis.layer, "undetermined");
  EXPECT_THAT(diagnosis.missing, ElementsAre("data.wait_share"));
  EXPECT_THAT(diagnosis.reason, HasSubstr("earlier layer (data)"));
}

TEST(Tree, SupportedCompetitorMakesItAbstainWithTheTestThatDecides) {
  for (const bool declared_by_primary : {true, false}) {
    const std::vector<std::string> names_h1 = {"H1"};
    const std::vector<std::string> names_d1 = {"D1"};
    Catalogue catalogue = Make({{"D1", "data", "data.imbalance_cv"},
                                {"H1", "hardware", "hardware.slowest_rank_share"}});
    (declared_by_primary ? catalogue.causes[0] : catalogue.causes[1]).competitors =
        declared_by_primary ? names_h1 : names_d1;
    const Facts facts = {{"data.imbalance_cv", Point(0.2)},
                         {"hardware.slowest_rank_share", Point(1)}};
    const Diagnosis diagnosis = Diagnose(catalogue, facts, kEfficiencyFails);
    EXPECT_EQ(diagnosis.layer, "undetermined");
    EXPECT_EQ(diagnosis.primary, "");
    EXPECT_THAT(diagnosis.reason, HasSubstr("test of D1"));
    EXPECT_THAT(diagnosis.missing, Contains("discriminating test: test of D1"));
  }
}

TEST(Tree, UndecidedCompetitorIsNamedButDoesNotBlock) {
  Catalogue catalogue = Make({{"D1", "data", "data.imbalance_cv"},
                              {"H1", "hardware", "hardware.slowest_rank_share"}});
  catalogue.causes[0].competitors = {"H1"};
  const Diagnosis diagnosis =
      Diagnose(catalogue, {{"data.imbalance_cv", Point(0.2)}}, kEfficiencyFails);
  EXPECT_EQ(diagnosis.primary, "D1");
  EXPECT_THAT(diagnosis.reason, HasSubstr("competitors not ruled out: H1"));
  EXPECT_THAT(diagnosis.missing, ElementsAre("hardware.slowest_rank_share"));
}

TEST(Tree, ShareBelowOneHalfMakesItAbstain) {
  const Catalogue catalogue = Make({{.id = "R1",
                                     .layer = "runtime",
                                     .fact = "comm.wait_share",
                                     .explains = {OfEfficiency("comm.wait_share")}}});
  // 0.2 / (1 - 0.5) = 0.4 of the loss; 0.3 / (1 - 0.5) = 0.6 of it.
  Facts facts = {{"comm.wait_share", Point(0.2)},
                 {"scaling.strong_efficiency", Point(0.5)}};
  Diagnosis diagnosis = Diagnose(catalogue, facts, kEfficiencyFails);
  EXPECT_EQ(diagnosis.layer, "undetermined");
  EXPECT_DOUBLE_EQ(diagnosis.causes[0].explained_share, 0.4);
  EXPECT_THAT(diagnosis.reason, HasSubstr("explains 0.4 of the loss"));
  facts["comm.wait_share"] = Point(0.3);
  diagnosis = Diagnose(catalogue, facts, kEfficiencyFails);
  EXPECT_EQ(diagnosis.layer, "runtime");
  EXPECT_DOUBLE_EQ(diagnosis.causes[0].explained_share, 0.6);
}

TEST(Tree, ShareThatCanNotBeComputedMakesItAbstain) {
  const Catalogue catalogue = Make({{.id = "R1",
                                     .layer = "runtime",
                                     .fact = "comm.wait_share",
                                     .explains = {OfEfficiency("comm.wait_share")}}});
  Diagnosis diagnosis =
      Diagnose(catalogue, {{"comm.wait_share", Point(0.3)}}, kEfficiencyFails);
  EXPECT_EQ(diagnosis.layer, "undetermined");
  EXPECT_THAT(diagnosis.missing, Contains("scaling.strong_efficiency"));
  diagnosis = Diagnose(
      catalogue,
      {{"comm.wait_share", Point(0.3)}, {"scaling.strong_efficiency", Point(1.0)}},
      kEfficiencyFails);
  EXPECT_EQ(diagnosis.layer, "undetermined");
  EXPECT_THAT(diagnosis.reason, HasSubstr("nothing is lost"));
}

TEST(Tree, MajorityOfALaterLayerBeatsAMinorityOfAnEarlierOne) {
  const Catalogue catalogue =
      Make({{.id = "D1",
             .layer = "data",
             .fact = "data.wait_share",
             .explains = {OfEfficiency("data.wait_share")}},
            {.id = "H1",
             .layer = "hardware",
             .fact = "hardware.steal_share",
             .explains = {OfEfficiency("scaling.strong_compute_loss")}}});
  const Diagnosis diagnosis = Diagnose(catalogue,
                                       {{"data.wait_share", Point(0.11)},
                                        {"hardware.steal_share", Point(0.2)},
                                        {"scaling.strong_compute_loss", Point(0.3)},
                                        {"scaling.strong_efficiency", Point(0.6)}},
                                       kEfficiencyFails);
  EXPECT_EQ(diagnosis.layer, "hardware");
  EXPECT_DOUBLE_EQ(diagnosis.causes[0].explained_share, 0.11 / 0.4);
  EXPECT_THAT(diagnosis.reason,
              HasSubstr("D1 of an earlier layer explains only 0.275"));
}

TEST(Tree, MinorityAndAnUnmeasuredShareTogetherMakeItAbstain) {
  const Catalogue catalogue = Make({{.id = "D1",
                                     .layer = "data",
                                     .fact = "data.wait_share",
                                     .explains = {OfEfficiency("data.wait_share")}},
                                    {"H1", "hardware", "hardware.steal_share"}});
  const Diagnosis diagnosis = Diagnose(catalogue,
                                       {{"data.wait_share", Point(0.11)},
                                        {"hardware.steal_share", Point(0.2)},
                                        {"scaling.strong_efficiency", Point(0.6)}},
                                       kEfficiencyFails);
  EXPECT_EQ(diagnosis.layer, "undetermined");
  EXPECT_THAT(diagnosis.reason, HasSubstr("D1"));
}

TEST(Tree, StrongestShareOfALayerIsItsPrimaryCause) {
  const Catalogue catalogue =
      Make({{.id = "R1",
             .layer = "runtime",
             .fact = "comm.wait_share",
             .explains = {OfEfficiency("comm.wait_share")}},
            {.id = "R2",
             .layer = "runtime",
             .fact = "comm.transfer_share",
             .explains = {OfEfficiency("comm.transfer_share")}}});
  const Diagnosis diagnosis = Diagnose(catalogue,
                                       {{"comm.wait_share", Point(0.11)},
                                        {"comm.transfer_share", Point(0.25)},
                                        {"scaling.strong_efficiency", Point(0.6)}},
                                       kEfficiencyFails);
  EXPECT_EQ(diagnosis.primary, "R2");
}

TEST(Tree, NothingFailsMeansNoLayerButSupportedCausesStayListedAsRisks) {
  const Catalogue catalogue = Make(
      {{"D1", "data", "data.wait_share"}, {"H1", "hardware", "hardware.steal_share"}});
  const Diagnosis diagnosis = Diagnose(
      catalogue,
      {{"data.wait_share", Point(0.0)}, {"hardware.steal_share", Point(0.4)}}, {});
  EXPECT_FALSE(diagnosis.regressed);
  EXPECT_EQ(diagnosis.layer, "undetermined");
  EXPECT_EQ(diagnosis.primary, "");
  EXPECT_EQ(diagnosis.reason, "no watched metric fails");
  ASSERT_EQ(diagnosis.causes.size(), 2U);
  EXPECT_EQ(diagnosis.causes[1].state, CauseState::kSupported);
  EXPECT_THAT(diagnosis.path, Contains(HasSubstr("nothing fails: H1")));
}

TEST(Tree, InconclusiveAndUnmeasuredRequirementsAreNamedNotBlamed) {
  const Catalogue catalogue = Make({{"D1", "data", "data.wait_share"}});
  const Diagnosis diagnosis = Diagnose(catalogue, {{"data.wait_share", Point(0.3)}},
                                       {{.id = "eff",
                                         .metric = "strong_efficiency",
                                         .title = "efficiency",
                                         .category = "efficiency",
                                         .verdict = base::Verdict::kInconclusive},
                                        {.id = "lat",
                                         .metric = "latency_ms",
                                         .title = "latency",
                                         .category = "latency",
                                         .verdict = base::Verdict::kNotRun}});
  EXPECT_FALSE(diagnosis.regressed);
  EXPECT_EQ(diagnosis.layer, "undetermined");
  EXPECT_EQ(
      diagnosis.reason,
      "no watched metric fails; not decided: efficiency (eff: inconclusive), latency "
      "(lat: not_run)");
  EXPECT_THAT(diagnosis.missing, ElementsAre("more samples of strong_efficiency",
                                             "a measurement of latency_ms"));
}

TEST(Tree, LayerHintKeepsOtherLayersOut) {
  const Catalogue catalogue = Make(
      {{"D1", "data", "data.wait_share"}, {"H1", "hardware", "hardware.steal_share"}});
  std::vector<FailedRequirement> failed = kEfficiencyFails;
  failed[0].layer_hint = "hardware";
  const Diagnosis diagnosis = Diagnose(
      catalogue,
      {{"data.wait_share", Point(0.3)}, {"hardware.steal_share", Point(0.4)}}, failed);
  EXPECT_EQ(diagnosis.layer, "hardware");
}

TEST(Tree, JsonCarriesEveryCauseWithItsState) {
  const Catalogue catalogue = Make({{"D1", "data", "data.wait_share"}});
  const base::Json json =
      ToJson(Diagnose(catalogue, {{"data.wait_share", Point(0.3)}}, kEfficiencyFails));
  EXPECT_EQ(json["layer"].AsString(), "data");
  EXPECT_EQ(json["primary"].AsString(), "D1");
  EXPECT_TRUE(json["regressed"].AsBool());
  ASSERT_EQ(json["causes"].AsArray().size(), 1U);
  const base::Json& cause = json["causes"].AsArray()[0];
  EXPECT_EQ(cause["state"].AsString(), "supported");
  EXPECT_TRUE(cause["explained_share"].is_null());
  EXPECT_EQ(cause["fix"].AsString(), "fix of D1");
}

// A layer is named only with a supported, relevant primary cause in that same layer.
RC_GTEST_PROP(TreeProperty, NamesALayerOnlyWithASupportedCauseInIt, ()) {
  const std::vector<std::string> names = {"data.wait_share", "overfit.gap",
                                          "runtime.oversubscription",
                                          "hardware.steal_share"};
  std::vector<Sketch> sketches;
  Facts facts;
  for (size_t i = 0; i < names.size(); ++i) {
    sketches.push_back({fmt::format("C{}", i), std::string(Layers()[i]), names[i]});
    if (*rc::gen::arbitrary<bool>()) sketches.back().competitors = {"C3"};
    const int state = *rc::gen::inRange(0, 4);
    if (state == 1) facts[names[i]] = Point(0.0);
    if (state == 2) facts[names[i]] = Point(0.5);
    if (state == 3) facts[names[i]] = Between(0.0, 0.5);
  }
  const Diagnosis diagnosis = Diagnose(Make(sketches), facts, kEfficiencyFails);
  RC_ASSERT(diagnosis.causes.size() == names.size());
  RC_ASSERT(!diagnosis.reason.empty());
  if (diagnosis.layer == "undetermined") {
    RC_ASSERT(diagnosis.primary.empty());
    return;
  }
  for (const CauseFinding& cause : diagnosis.causes) {
    if (cause.id == diagnosis.primary) {
      RC_ASSERT(cause.state == CauseState::kSupported);
      RC_ASSERT(cause.layer == diagnosis.layer);
      return;
    }
    RC_ASSERT(cause.state != CauseState::kSupported);  // no earlier one is skipped
  }
}

}  // namespace
}  // namespace stepslack::diagnose

#include "stepslack/evidence/review_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "example_review.h"

namespace stepslack::evidence {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

std::vector<std::string> Keys(const base::Json& json) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : json.AsObject()) keys.push_back(key);
  return keys;
}

base::Json Example() {
  ReviewInputs inputs = ExampleReview();
  inputs.requirements.push_back(NotRun("latency", "latency"));
  inputs.risks = {{"data leakage", 0.0, 7, "0 of 40 rows"},
                  {"overfit drift", std::nullopt, 5, "not measured"}};
  const auto review = BuildReview(inputs);
  EXPECT_TRUE(review.has_value());
  return ToJson(*review);
}

TEST(ReviewJson, HasExactlyTheKeysOfItsSchema) {
  const base::Json json = Example();
  EXPECT_THAT(Keys(json), UnorderedElementsAre("schema", "decision", "decision_reasons",
                                               "requirements", "checklist", "prompts",
                                               "tags", "layer", "diagnosis", "memo",
                                               "decision_memo", "capsule", "risks",
                                               "artifacts", "created_utc", "framing"));
  EXPECT_EQ(json["schema"].AsString(), "stepslack.review/1");
  const base::Json& requirement = json["requirements"].AsArray()[0];
  EXPECT_THAT(Keys(requirement),
              UnorderedElementsAre("id", "title", "metric", "estimate", "bound",
                                   "direction", "slack", "slack_percent", "verdict",
                                   "samples_to_decide", "owner", "artifact"));
  EXPECT_THAT(Keys(json["tags"]),
              UnorderedElementsAre("dataset", "model", "runtime", "hardware"));
  EXPECT_THAT(Keys(json["artifacts"].AsArray()[0]),
              UnorderedElementsAre("name", "path", "sha256"));
  EXPECT_THAT(Keys(json["capsule"]),
              UnorderedElementsAre("path", "workload_slice", "primary_metric",
                                   "first_failing_layer", "owner", "primary_artifact",
                                   "primary_artifact_sha256", "decision"));
}

TEST(ReviewJson, NumbersAreThoseOfTheRequirement) {
  const base::Json requirement = Example()["requirements"].AsArray()[0];
  EXPECT_DOUBLE_EQ(requirement["bound"].AsDouble(), 1.0);
  EXPECT_EQ(requirement["direction"].AsString(), "at_most");
  EXPECT_DOUBLE_EQ(requirement["slack"].AsDouble(), 1.0 - 0.8);
  EXPECT_NEAR(requirement["slack_percent"].AsDouble(), 20.0, 1e-9);
  EXPECT_EQ(requirement["estimate"]["n"].AsInt(), 12);
  EXPECT_DOUBLE_EQ(requirement["estimate"]["low"].AsDouble(), 0.7);
}

TEST(ReviewJson, WhatWasNotMeasuredIsNullNotZero) {
  const base::Json json = Example();
  const base::Json& latency = json["requirements"].AsArray()[3];
  EXPECT_TRUE(latency["estimate"].is_null());
  EXPECT_TRUE(latency["slack"].is_null());
  EXPECT_EQ(latency["verdict"].AsString(), "not_run");
  EXPECT_EQ(json["decision"].AsString(), "escalate");
  EXPECT_TRUE(json["risks"].AsArray()[1]["share"].is_null());
}

TEST(ReviewJson, ReadsBackToTheSameBytes) {
  const base::Json json = Example();
  const auto parsed = base::ParseJson(json.Dump(), "review.json");
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(parsed->Dump(), json.Dump());
}

TEST(SortedBySlack, PutsErrorsFirstAndTheLeastSlackNext) {
  // Slack of the middle of the interval to the bound 1: 20 %, -30 %, 70 %.
  std::vector<RequirementResult> list = {AtMostOne("tight", "quality", 0.7, 0.9).result,
                                         AtMostOne("bad", "quality", 1.2, 1.4).result,
                                         AtMostOne("wide", "quality", 0.2, 0.4).result,
                                         NotRun("none", "latency").result};
  // Bounds of zero have no percent: two leaked rows are worst, none is zero slack.
  for (const double leaked : {2.0, 0.0}) {
    RequirementResult zero =
        AtMostOne(leaked > 0 ? "leaks" : "clean", "leak", 0, 0).result;
    zero.requirement.bound = 0;
    zero.estimate = base::Exact(leaked, "1", 40, "rows", "counted");
    zero.slack = base::Evaluate(zero.requirement, zero.estimate);
    list.push_back(zero);
  }
  std::vector<std::string> ids;
  for (const RequirementResult& result : SortedBySlack(list)) {
    ids.push_back(result.requirement.id);
  }
  EXPECT_THAT(ids, ElementsAre("none", "leaks", "bad", "clean", "tight", "wide"));
}

}  // namespace
}  // namespace stepslack::evidence

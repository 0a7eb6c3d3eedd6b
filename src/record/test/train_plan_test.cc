#include "stepslack/record/train_plan.h"

#include <gtest/gtest.h>

namespace stepslack::record {
namespace {

base::Json Parsed(std::string_view text) {
  const auto json = base::ParseJson(text, "test");
  EXPECT_TRUE(json.has_value());
  return json.value_or(base::Json());
}

TEST(TrainPlan, ComesBackFromItsOwnJsonUnchanged) {
  TrainPlan plan;
  plan.inputs_path = "maps/inputs.npy";
  plan.targets_path = "maps/targets.npy";
  plan.train_indices = {4, 0, 7};
  plan.validation_indices = {1};
  plan.test_indices = {2, 3};
  plan.categorical_channels = {1};
  plan.category_counts = {3};
  plan.augment = false;
  plan.base_channels = 12;
  plan.levels = 3;
  plan.global_batch = 5;
  plan.learning_rate = 0.1;  // not exact in binary: must keep its bits
  plan.seed = 0xFFFFFFFFFFFFFFFFULL;
  plan.synchronise = false;
  plan.overlap = false;
  plan.fault_rank = 1;
  plan.fault_sleep_ms = 12.5;

  const std::string text = ToJson(plan).Dump();
  const auto again = TrainPlanFromJson(Parsed(text), "plan.json");
  ASSERT_TRUE(again.has_value()) << Describe(again.error());
  EXPECT_EQ(ToJson(*again).Dump(), text);
  EXPECT_EQ(again->train_indices, plan.train_indices);
  EXPECT_EQ(again->seed, plan.seed);
  EXPECT_EQ(again->learning_rate, plan.learning_rate);
  EXPECT_FALSE(again->synchronise);
  EXPECT_EQ(again->fault_rank, 1);
}

TEST(TrainPlan, AbsentKeysKeepTheirDefaults) {
  const auto plan = TrainPlanFromJson(
      Parsed(R"({"schema": "stepslack.train_plan/1", "samples": 42})"), "plan.json");
  ASSERT_TRUE(plan.has_value());
  const TrainPlan defaults;
  EXPECT_EQ(plan->samples, 42);
  EXPECT_EQ(plan->global_batch, defaults.global_batch);
  EXPECT_EQ(plan->model, "unet");
}

TEST(TrainPlan, RefusesAnUnknownKeyAndNamesItsNeighbour) {
  const auto plan = TrainPlanFromJson(
      Parsed(R"({"schema": "stepslack.train_plan/1", "learning_rte": 0.1})"), "p.json");
  ASSERT_FALSE(plan.has_value());
  EXPECT_EQ(plan.error().id, "REC-0003");
  EXPECT_EQ(plan.error().where, "p.json");
  EXPECT_EQ(plan.error().exit_code, base::ExitCode::kUsage);
  EXPECT_NE(plan.error().what.find("learning_rte"), std::string::npos);
  EXPECT_EQ(plan.error().help, "did you mean 'learning_rate'?");
}

TEST(TrainPlan, RefusesWrongTypesOfEveryKind) {
  for (const char* member :
       {R"("samples": "many")", R"("samples": 1.5)", R"("augment": 1)",
        R"("learning_rate": "fast")", R"("model": 3)", R"("train_indices": 3)",
        R"("train_indices": [1, "two"])", R"("levels": 4294967299)",
        R"("learning_rate": null)"}) {
    const auto plan = TrainPlanFromJson(
        Parsed(std::string(R"({"schema": "stepslack.train_plan/1", )") + member + "}"),
        "p.json");
    ASSERT_FALSE(plan.has_value()) << member;
    EXPECT_EQ(plan.error().id, "REC-0003") << member;
  }
}

TEST(TrainPlan, RefusesAnotherSchema) {
  for (const char* text : {"{}", "[]", "3", R"({"schema": "stepslack.run/1"})"}) {
    EXPECT_FALSE(TrainPlanFromJson(Parsed(text), "p.json").has_value()) << text;
  }
}

}  // namespace
}  // namespace stepslack::record

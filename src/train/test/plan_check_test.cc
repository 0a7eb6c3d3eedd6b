#include "plan_check.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>

namespace stepslack::train {
namespace {

record::TrainPlan GoodPlan() {
  record::TrainPlan plan;
  plan.train_indices = {0};
  plan.validation_indices = {1};
  return plan;
}

// What is wrong with the good plan after `change`.
std::string Complaint(const std::function<void(record::TrainPlan&)>& change) {
  record::TrainPlan plan = GoodPlan();
  change(plan);
  const auto status = CheckPlan(plan);
  if (status.has_value()) return "accepted";
  EXPECT_EQ(status.error().id, "TRAIN-0002");
  return status.error().what;
}

TEST(CheckPlan, AcceptsEveryAllowedName) {
  for (const char* name : {"adamw", "sgd", "lamb"}) {
    EXPECT_EQ(Complaint([&](auto& plan) { plan.optimizer = name; }), "accepted");
  }
  for (const char* name : {"cosine", "linear", "constant"}) {
    EXPECT_EQ(Complaint([&](auto& plan) { plan.schedule = name; }), "accepted");
  }
  for (const char* name : {"none", "linear", "sqrt"}) {
    EXPECT_EQ(Complaint([&](auto& plan) { plan.learning_rate_scaling = name; }),
              "accepted");
  }
  for (const char* name : {"none", "bfloat16", "topk", "powersgd"}) {
    EXPECT_EQ(Complaint([&](auto& plan) { plan.compression = name; }), "accepted");
  }
}

TEST(CheckPlan, NamesTheKeyItsValueAndWhatIsAllowed) {
  EXPECT_EQ(Complaint([](auto& plan) { plan.optimizer = "adamx"; }),
            "optimizer is 'adamx', allowed: adamw, sgd, lamb");
  EXPECT_EQ(Complaint([](auto& plan) { plan.schedule = "step"; }),
            "schedule is 'step', allowed: cosine, linear, constant");
  EXPECT_EQ(Complaint([](auto& plan) { plan.learning_rate_scaling = "cube"; }),
            "learning_rate_scaling is 'cube', allowed: none, linear, sqrt");
  EXPECT_EQ(Complaint([](auto& plan) { plan.compression = "zip"; }),
            "compression is 'zip', allowed: none, bfloat16, topk, powersgd");
  EXPECT_EQ(Complaint([](auto& plan) { plan.fault = "explode"; }).substr(0, 20),
            "fault is 'explode', ");
  EXPECT_EQ(Complaint([](auto& plan) { plan.momentum = 1.5; }),
            "momentum is 1.5, allowed is 0 to 1");
  EXPECT_EQ(Complaint([](auto& plan) { plan.accumulation = 0; }),
            "accumulation is 0, allowed is 1 to 1048576");
  EXPECT_EQ(Complaint([](auto& plan) { plan.reference_batch = -1; }),
            "reference_batch is -1, allowed is 0 to 1048576");
  EXPECT_EQ(Complaint([](auto& plan) { plan.powersgd_rank = 0; }),
            "powersgd_rank is 0, allowed is 1 to 256");
  EXPECT_EQ(Complaint([](auto& plan) { plan.topk_share = 2; }),
            "topk_share is 2, allowed is 1e-09 to 1");
  EXPECT_NE(Complaint([](auto& plan) {
              plan.topk_share = std::numeric_limits<double>::quiet_NaN();
            }),
            "accepted");
  EXPECT_EQ(Complaint([](auto& plan) { plan.fault_step = -1; }).substr(0, 16),
            "fault_step is -1");
}

TEST(CheckPlan, RefusesChoicesThatDoNotGoTogether) {
  EXPECT_EQ(Complaint([](auto& plan) {
              plan.compression = "topk";
              plan.tune_buckets = true;
            }),
            "tune_buckets has nothing to tune with compression");
  EXPECT_EQ(Complaint([](auto& plan) {
              plan.compression = "topk";
              plan.fault = "wrong_size";
            }),
            "fault wrong_size needs compression none");
}

}  // namespace
}  // namespace stepslack::train

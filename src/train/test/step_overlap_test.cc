// Updates that wait for the next forward pass: the same bits as a blocking exchange.
// Ranks are threads here; worker_test.cc has them as processes.
#include <gtest/gtest.h>

#include <mutex>

#include "plan_check.h"
#include "rank_threads.h"
#include "stepslack/record/run_record.h"
#include "tiny_run.h"
#include "trainer.h"

namespace stepslack::train {
namespace {

std::vector<base::Error> Train(const TinyRun& run, int ranks,
                               const std::string& backend = "gloo") {
  std::mutex mutex;
  std::vector<base::Error> errors;
  const base::Status plan = CheckPlan(run.plan);
  EXPECT_TRUE(plan.has_value());
  RunRanks(
      ranks,
      [&](comm::Communicator& communicator) {
        const auto train = [&]() -> base::Status {
          SS_TRY(auto trainer,
                 Trainer::Create(run.folder(), run.plan, {}, communicator));
          return trainer->Run();
        };
        const base::Status status = train();
        const std::lock_guard lock(mutex);
        if (!status.has_value()) errors.push_back(status.error());
      },
      backend);
  return errors;
}

record::RunRecord Trained(const TinyRun& run, int ranks,
                          const std::string& backend = "gloo") {
  for (const base::Error& error : Train(run, ranks, backend)) {
    ADD_FAILURE() << Describe(error);
  }
  return record::ReadRun(run.folder()).value_or(record::RunRecord());
}

void TwentySteps(TinyRun& run) {
  run.plan.samples = 53;  // 3 + 3 + 2 an epoch
  run.plan.eval_every_samples = 23;
  run.plan.checkpoint_every_samples = 17;
  run.plan.predict_test = false;
  run.plan.clip_norm = 0;
}

void ExpectSameRun(const record::RunRecord& a, const record::RunRecord& b) {
  EXPECT_EQ(a.summary.parameters_sha256, b.summary.parameters_sha256);
  ASSERT_EQ(a.steps.size(), b.steps.size());
  for (size_t rank = 0; rank < a.steps.size(); ++rank) {
    ASSERT_EQ(a.steps[rank].size(), 20U);
    ASSERT_EQ(b.steps[rank].size(), 20U);
    for (size_t i = 0; i < 20; ++i) {
      EXPECT_EQ(a.steps[rank][i].step, b.steps[rank][i].step);
      EXPECT_EQ(a.steps[rank][i].loss, b.steps[rank][i].loss);
      EXPECT_EQ(a.steps[rank][i].grad_norm, b.steps[rank][i].grad_norm);
      EXPECT_EQ(a.steps[rank][i].parameter_hash, b.steps[rank][i].parameter_hash);
    }
  }
}

struct Case {
  const char* name;
  const char* optimizer;
  const char* model_norm;
  int ranks;
  int accumulation;
  int64_t hash_every;
};

TEST(StepOverlap, TwentyStepsAreBitEqualToBlockingAndToPlainOverlap) {
  const std::vector<Case> cases = {{"momentum", "sgd", "group", 2, 1, 0},
                                   {"parts", "adamw", "batch", 2, 2, 3},
                                   {"lamb", "lamb", "group", 2, 1, 0},
                                   {"more_ranks", "adamw", "group", 4, 1, 0}};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    TinyRun step(std::string("step_") + c.name), plain(std::string("plain_") + c.name),
        blocking(std::string("blocking_") + c.name);
    for (TinyRun* run : {&step, &plain, &blocking}) {
      TwentySteps(*run);
      run->plan.optimizer = c.optimizer;
      run->plan.norm = c.model_norm;
      run->plan.accumulation = c.accumulation;
      run->plan.hash_every_steps = c.hash_every;
    }
    plain.plan.step_overlap = "off";
    blocking.plan.overlap = false;
    const auto with = Trained(step, c.ranks);
    const auto without = Trained(plain, c.ranks);
    const auto blocked = Trained(blocking, c.ranks);
    EXPECT_EQ(with.summary.runtime.at("exchange"), "step");
    EXPECT_EQ(without.summary.runtime.at("exchange"), "overlap");
    EXPECT_EQ(blocked.summary.runtime.at("exchange"), "blocking");
    ExpectSameRun(with, blocked);
    ExpectSameRun(without, blocked);
  }
}

TEST(StepOverlap, CompressionToBfloat16IsBitEqualToPlainOverlap) {
  TinyRun step("step_half"), plain("plain_half");
  for (TinyRun* run : {&step, &plain}) {
    TwentySteps(*run);
    run->plan.compression = "bfloat16";
  }
  plain.plan.step_overlap = "off";
  ExpectSameRun(Trained(step, 2), Trained(plain, 2));
}

TEST(StepOverlap, ANanGradientIsFoundUnderTheNumberOfItsStep) {
  TinyRun run("step_nan");
  TwentySteps(run);
  run.plan.fault = "nan_gradient";
  run.plan.fault_rank = 1;
  run.plan.fault_step = 4;
  const auto errors = Train(run, 2);
  ASSERT_EQ(errors.size(), 2U);
  for (const base::Error& error : errors) {
    EXPECT_EQ(error.id, "TRAIN-0210");
    EXPECT_EQ(error.where, "sum over all ranks, step 4");
  }
}

TEST(StepOverlap, IsNotUsedWhereItCanNotBeOrDoesNotPay) {
  const auto exchange_of = [](const std::string& name, const std::string& backend,
                              auto&& change) {
    TinyRun run(name);
    TwentySteps(run);
    run.plan.samples = 6;
    change(run.plan);
    return Trained(run, 2, backend).summary.runtime.at("exchange");
  };
  EXPECT_EQ(exchange_of("clips", "gloo", [](auto& plan) { plan.clip_norm = 1; }),
            "overlap");
  EXPECT_EQ(exchange_of("synced", "gloo", [](auto& plan) { plan.norm = "sync_batch"; }),
            "overlap");
  EXPECT_EQ(exchange_of("shared", "shm", [](auto&) {}), "blocking");
}

TEST(StepOverlap, AskingForItWithClippingIsRefused) {
  record::TrainPlan plan;
  plan.train_indices = plan.validation_indices = {0};
  plan.step_overlap = "on";
  const base::Status status = CheckPlan(plan);
  ASSERT_FALSE(status.has_value());
  EXPECT_NE(status.error().what.find("clip_norm 0"), std::string::npos);
}

}  // namespace
}  // namespace stepslack::train

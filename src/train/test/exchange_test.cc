// Whole trainers, ranks as threads: what the choices of a plan about optimisation and
// gradient exchange do to a run.
#include <gtest/gtest.h>

#include <cmath>
#include <mutex>

#include "plan_check.h"
#include "rank_threads.h"
#include "stepslack/record/run_record.h"
#include "tiny_run.h"
#include "trainer.h"

namespace stepslack::train {
namespace {

// Trains, or resumes, `run` on `ranks` threads; the errors of the ranks.
std::vector<base::Error> Train(const TinyRun& run, int ranks) {
  std::mutex mutex;
  std::vector<base::Error> errors;
  EXPECT_TRUE(CheckPlan(run.plan).has_value());
  const comm::ConnectionFacts connection;
  RunRanks(ranks, [&](comm::Communicator& communicator) {
    const auto train = [&]() -> base::Status {
      SS_TRY(auto trainer,
             Trainer::Create(run.folder(), run.plan, connection, communicator));
      return trainer->Run();
    };
    const base::Status status = train();
    const std::lock_guard lock(mutex);
    if (!status.has_value()) errors.push_back(status.error());
  });
  return errors;
}

record::RunRecord Trained(const TinyRun& run, int ranks) {
  for (const base::Error& error : Train(run, ranks)) {
    ADD_FAILURE() << Describe(error);
  }
  auto record = record::ReadRun(run.folder());
  EXPECT_TRUE(record.has_value());
  return record.value_or(record::RunRecord());
}

// The test data, without evaluation and records that cost time.
void Shorten(TinyRun& run, int64_t samples) {
  run.plan.samples = samples;
  run.plan.eval_every_samples = samples;
  run.plan.predict_test = false;
  run.plan.trace_steps = 0;
}

TEST(Exchange, EveryOptimizerAndScheduleTrainsAndIsRecorded) {
  const std::vector<std::pair<const char*, const char*>> choices = {
      {"adamw", "linear"}, {"sgd", "constant"}, {"lamb", "cosine"}};
  for (const auto& [optimizer, schedule] : choices) {
    TinyRun run(std::string("optimizer_") + optimizer);
    Shorten(run, 96);
    run.plan.optimizer = optimizer;
    run.plan.schedule = schedule;
    run.plan.learning_rate_scaling = "linear";
    run.plan.reference_batch = 6;  // the batch is 3: half the rate
    run.plan.learning_rate = 0.02;
    const auto record = Trained(run, 1);
    EXPECT_EQ(record.summary.runtime.at("optimizer"), optimizer);
    EXPECT_EQ(record.summary.runtime.at("peak_learning_rate"), "0.01");
    EXPECT_EQ(record.summary.runtime.at("exchange"), "none");
    ASSERT_EQ(record.steps.at(0).size(), 36U);
    double first = 0, last = 0;  // losses of an epoch
    for (size_t i = 0; i < 3; ++i) {
      first += record.steps[0][i].loss;
      last += record.steps[0][33 + i].loss;
    }
    EXPECT_LT(last, 0.9 * first) << optimizer;
    // The last batch has the last 2 of the 90 samples after the warm-up.
    const double rate = record.steps[0].back().learning_rate;
    if (record.summary.runtime.at("optimizer") == "adamw") {
      EXPECT_NEAR(rate, 0.01 * 2 / 90, 1e-12);
    } else if (record.summary.runtime.at("optimizer") == "sgd") {
      EXPECT_EQ(rate, 0.01);
    }
  }
}

TEST(Exchange, AccumulationTrainsAlikeWithTheSameTraffic) {
  TinyRun whole("whole_batch"), parts("in_parts");
  for (TinyRun* run : {&whole, &parts}) {
    Shorten(*run, 24);
    run->plan.global_batch = 8;
  }
  parts.plan.accumulation = 3;
  const auto expected = Trained(whole, 2);
  const auto found = Trained(parts, 2);
  ASSERT_EQ(found.steps.at(1).size(), 3U);
  for (size_t i = 0; i < 3; ++i) {
    const record::StepRecord& a = expected.steps[0][i];
    const record::StepRecord& b = found.steps[0][i];
    EXPECT_NEAR(a.loss, b.loss, 1e-3 * a.loss);
    EXPECT_NEAR(a.grad_norm, b.grad_norm, 1e-2 * a.grad_norm);
    EXPECT_EQ(a.comm_bytes, b.comm_bytes);
  }
  // Before rounding is amplified by training they agree much closer.
  EXPECT_NEAR(expected.steps[0][0].grad_norm, found.steps[0][0].grad_norm,
              1e-5 * found.steps[0][0].grad_norm);
}

TEST(Exchange, TheClippedNormIsGlobalAtAnyWorldSize) {
  std::vector<double> norms;
  for (int ranks : {1, 2, 5}) {  // 5 ranks, 3 samples
    TinyRun run("norm" + std::to_string(ranks));
    Shorten(run, 3);
    run.plan.clip_norm = 1e-3;
    norms.push_back(Trained(run, ranks).steps.at(0).at(0).grad_norm);
  }
  EXPECT_GT(norms[0], 1e-3);
  EXPECT_NEAR(norms[1], norms[0], 1e-5 * norms[0]);
  EXPECT_NEAR(norms[2], norms[0], 1e-5 * norms[0]);
}

TEST(Exchange, NotANumberOnOneRankStopsEveryRankInThatStep) {
  for (const char* compression : {"none", "topk"}) {
    TinyRun run(std::string("nan_") + compression);
    run.plan.compression = compression;
    run.plan.fault = "nan_gradient";
    run.plan.fault_rank = 1;
    run.plan.fault_step = 2;
    const auto errors = Train(run, 3);
    ASSERT_EQ(errors.size(), 3U);
    for (const base::Error& error : errors) {
      EXPECT_EQ(error.id, "TRAIN-0021");
      EXPECT_EQ(error.where, "rank 1, step 2");
    }
  }
}

TEST(Exchange, ALeftOutExchangeIsNoticedInItsStepAndNotTakenForTheNext) {
  TinyRun run("left_out");
  run.plan.overlap = false;  // one collective a step, all of the same size
  run.plan.fault = "skip_collective";
  run.plan.fault_rank = 1;
  run.plan.fault_step = 2;
  run.plan.timeout_seconds = 2;
  const auto errors = Train(run, 2);
  ASSERT_EQ(errors.size(), 2U);
  int noticed = 0;
  for (const base::Error& error : errors) {
    // The other rank waits for the one that has stopped.
    if (error.id != "TRAIN-0030") continue;
    ++noticed;
    EXPECT_EQ(error.where, "rank 1, step 2");
    EXPECT_NE(error.what.find("a step mark of 3, not 6"), std::string::npos)
        << error.what;
  }
  EXPECT_EQ(noticed, 1);
}

TEST(Exchange, CompressedRunsResumeBitEqualAndSayWhatTheySent) {
  const std::vector<std::pair<const char*, double>> methods = {
      {"bfloat16", 0.55}, {"topk", 0.25}, {"powersgd", 0.9}};
  for (const auto& [method, most] : methods) {
    TinyRun whole(std::string("whole_") + method), cut(std::string("cut_") + method);
    for (TinyRun* run : {&whole, &cut}) {
      Shorten(*run, 24);
      run->plan.compression = method;
      run->plan.topk_share = 0.1;
      run->plan.checkpoint_every_samples = 8;
    }
    const auto expected = Trained(whole, 2);
    EXPECT_EQ(expected.summary.runtime.at("compression"), method);
    const auto plain = 4.0 * static_cast<double>(expected.summary.parameters);
    EXPECT_GT(expected.steps[0][0].comm_bytes, 0);
    EXPECT_LT(static_cast<double>(expected.steps[0][0].comm_bytes), most * plain);
    // The first attempt ends by a fault after the checkpoint at 16 samples.
    cut.plan.fault = "nan_gradient";
    cut.plan.fault_rank = 0;
    cut.plan.fault_step = 8;
    EXPECT_EQ(Train(cut, 2).size(), 2U);
    cut.plan.fault = "";
    const auto resumed = Trained(cut, 2);
    EXPECT_EQ(resumed.summary.restarts, 1);
    EXPECT_EQ(resumed.summary.parameters_sha256, expected.summary.parameters_sha256)
        << method;
  }
}

TEST(Exchange, TunedBucketsAreRecordedAndReusedByAResumedRun) {
  TinyRun run("tuned");
  Shorten(run, 120);
  run.plan.tune_buckets = true;
  run.plan.samples = 80;  // 30 steps: tuning is over before the end
  const auto first = Trained(run, 2);
  const std::string chosen = first.summary.runtime.at("tuned_bucket_bytes");
  const std::string& waits = first.summary.runtime.at("bucket_waits_ms");
  EXPECT_NE(waits.find(chosen + ": "), std::string::npos) << waits;
  const auto again = Trained(run, 2);  // from its last checkpoint: no step left
  EXPECT_EQ(again.summary.restarts, 1);
  EXPECT_EQ(again.summary.runtime.at("tuned_bucket_bytes"), chosen);
  EXPECT_EQ(again.summary.runtime.at("buckets"), first.summary.runtime.at("buckets"));
}

}  // namespace
}  // namespace stepslack::train

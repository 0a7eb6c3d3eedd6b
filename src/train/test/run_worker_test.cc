// The worker's function in this process, one rank: what it learns and what it refuses.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "stepslack/base/file.h"
#include "stepslack/record/array_file.h"
#include "stepslack/record/run_record.h"
#include "stepslack/train/worker.h"
#include "tiny_run.h"

namespace stepslack::train {
namespace {

base::Error ErrorOf(const TinyRun& run) {
  run.WritePlan();
  const auto status = RunWorker(run.folder());
  EXPECT_FALSE(status.has_value());
  return status.has_value() ? base::Error{} : status.error();
}

TEST(RunWorker, LearnsATinyProblemBetterThanTheScaledMean) {
  TinyRun run("learns");
  run.plan.samples = 480;
  run.plan.global_batch = 4;
  run.plan.warmup_samples = 40;
  run.plan.eval_every_samples = 480;
  run.plan.checkpoint_every_samples = 0;
  run.plan.trace_steps = 0;
  run.plan.learning_rate = 1e-2;
  run.WritePlan();
  const auto status = RunWorker(run.folder());
  ASSERT_TRUE(status.has_value()) << Describe(status.error());
  const auto record = record::ReadRun(run.folder());
  ASSERT_TRUE(record.has_value());

  // The same metric of the predictor "mean current times the training mean of drop over
  // mean current"; the drop is 0.02 * load * distance, the mean current is the load or
  // so.
  const size_t pixels = TinyRun::kSide * TinyRun::kSide;
  const auto mean = [&](const std::vector<float>& from, size_t at) {
    double sum = 0;
    for (size_t i = 0; i < pixels; ++i) sum += static_cast<double>(from[at + i]);
    return sum / static_cast<double>(pixels);
  };
  double ratio = 0;
  for (size_t map = 0; map < 8; ++map) {
    ratio += mean(run.targets, map * pixels) / mean(run.inputs, map * 3 * pixels) / 8;
  }
  double error = 0, total = 0;
  for (size_t map = 8; map < 11; ++map) {
    const double guess = ratio * mean(run.inputs, map * 3 * pixels);
    for (size_t i = 0; i < pixels; ++i) {
      const auto truth = static_cast<double>(run.targets[map * pixels + i]);
      error += std::fabs(truth - guess);
      total += std::fabs(truth);
    }
  }
  ASSERT_EQ(record->evals.size(), 1U);
  EXPECT_LT(record->evals[0].relative_mae, 0.5 * error / total);
  EXPECT_FALSE(base::PathExists(run.Path("trace.rank0.json.gz")));
}

TEST(RunWorker, PredictionsAreInMillivoltsOfTheTestSamples) {
  TinyRun run("predicts");
  run.plan.samples = 3;
  run.plan.learning_rate = 0;  // stays at the start: about the mean target
  run.WritePlan();
  ASSERT_TRUE(RunWorker(run.folder()).has_value());
  const auto arrays = record::ReadNpz(run.Path("predictions.npz"));
  ASSERT_TRUE(arrays.has_value());
  const auto& values = arrays->at("prediction").values;
  ASSERT_EQ(values.size(), 3U * 256U);
  for (size_t i = 0; i < 3; ++i) {
    const auto map = static_cast<size_t>(run.plan.test_indices[i]);
    double predicted = 0, truth = 0;
    for (size_t p = 0; p < 256; ++p) {
      predicted += static_cast<double>(values[i * 256 + p]);
      truth += static_cast<double>(run.targets[map * 256 + p]);
    }
    EXPECT_GT(predicted, 0.3 * truth);
    EXPECT_LT(predicted, 3.0 * truth);
  }
  const auto summary = record::ReadRunSummary(run.folder());
  EXPECT_EQ(summary->samples, 3);
  EXPECT_GT(summary->inference_cpu_seconds_per_map, 0.0);
  EXPECT_LT(summary->inference_cpu_seconds_per_map, 0.1);
}

TEST(RunWorker, AFinishedRunStartedAgainGivesTheSameResult) {
  TinyRun run("finished");
  ASSERT_TRUE(RunWorker(run.folder()).has_value());
  const auto first = record::ReadRun(run.folder());
  ASSERT_TRUE(RunWorker(run.folder()).has_value());
  const auto second = record::ReadRun(run.folder());
  ASSERT_TRUE(first.has_value() && second.has_value());
  EXPECT_EQ(first->summary.parameters_sha256, second->summary.parameters_sha256);
  EXPECT_EQ(first->summary.predictions_sha256, second->summary.predictions_sha256);
  EXPECT_EQ(first->summary.train_seconds, second->summary.train_seconds);
  EXPECT_EQ(second->summary.restarts, 1);
  EXPECT_EQ(second->steps[0].size(), first->steps[0].size());
  EXPECT_EQ(second->evals.size(), first->evals.size());
}

TEST(RunWorker, RefusesACheckpointOfAnotherPlanOrOtherData) {
  TinyRun run("foreign");
  run.plan.samples = 8;
  run.plan.checkpoint_every_samples = 3;
  run.WritePlan();
  ASSERT_TRUE(RunWorker(run.folder()).has_value());
  run.plan.timeout_seconds = 33;  // changes nothing that is trained
  run.WritePlan();
  EXPECT_TRUE(RunWorker(run.folder()).has_value());
  for (float& value : run.targets) value *= 2.0F;
  run.WriteArrays();
  EXPECT_EQ(ErrorOf(run).id, "TRAIN-0013");
  run.plan.learning_rate *= 2;
  EXPECT_EQ(ErrorOf(run).id, "TRAIN-0010");
  const auto summary = record::ReadRunSummary(run.folder());
  ASSERT_TRUE(summary.has_value());
  EXPECT_EQ(summary->status, "failed");
  EXPECT_NE(summary->failure.find("TRAIN-0010"), std::string::npos);
  ASSERT_TRUE(base::WriteFileAtomic(run.Path("checkpoints/step3.pt"), "PK damaged")
                  .has_value());
  EXPECT_EQ(ErrorOf(run).id, "TRAIN-0010");  // the one before it is read instead
  ASSERT_TRUE(base::WriteFileAtomic(run.Path("checkpoints/step2.pt"), "").has_value());
  EXPECT_EQ(ErrorOf(run).id, "TRAIN-0061");
}

TEST(RunWorker, NamesEachBadPlan) {
  TinyRun run("plans");
  const record::TrainPlan good = run.plan;
  const auto expect = [&](const char* id, const char* word) {
    const base::Error error = ErrorOf(run);
    EXPECT_EQ(error.id, id) << word;
    EXPECT_NE(error.what.find(word), std::string::npos) << error.what;
    run.plan = good;
  };
  run.plan.train_indices.clear();
  expect("TRAIN-0002", "training samples");
  run.plan.validation_indices.clear();
  expect("TRAIN-0002", "validation samples");
  run.plan.samples = 0;
  expect("TRAIN-0002", "samples is 0");
  run.plan.global_batch = 0;
  expect("TRAIN-0002", "global_batch");
  run.plan.loader_threads = 65;
  expect("TRAIN-0002", "loader_threads is 65");
  run.plan.prefetch_batches = 0;
  expect("TRAIN-0002", "prefetch_batches is 0");
  run.plan.keep_checkpoints = 0;
  expect("TRAIN-0002", "keep_checkpoints is 0");
  run.plan.model = "transformer";
  expect("TRAIN-0002", "transformer");
  run.plan.learning_rate = -1;
  expect("TRAIN-0002", "learning_rate");
  run.plan.hash_every_steps = -1;
  expect("TRAIN-0002", "hash_every_steps is -1");
  run.plan.category_counts = {};
  expect("TRAIN-0002", "differ in length");
  run.plan.levels = 1;
  expect("MODEL-0002", "levels is 1");
  run.plan.levels = 6;  // multiples of 32
  expect("MODEL-0001", "16 x 16");
  run.plan.inputs_path = run.Path("absent.npy");
  expect("REC-0007", "cannot open");
}

TEST(RunWorker, ReportsAFolderWithoutPlan) {
  const auto status = RunWorker("/proc/no/such/folder");
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().id, "BASE-0001");
}

TEST(RunWorker, ReportsAFolderThatCanNotBeWritten) {
  TinyRun run("unwritable");
  // A folder in place of the metrics file, as root may write almost anywhere.
  ASSERT_TRUE(base::MakeFolders(run.Path("metrics.jsonl/x")).has_value());
  EXPECT_EQ(ErrorOf(run).id, "BASE-0002");
}

}  // namespace
}  // namespace stepslack::train

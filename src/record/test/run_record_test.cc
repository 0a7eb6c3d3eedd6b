#include "stepslack/record/run_record.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "stepslack/base/file.h"

namespace stepslack::record {
namespace {

class RunRecordTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "run_record_" + std::to_string(::getpid());
    ASSERT_TRUE(base::MakeFolders(folder_).has_value());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void Write(const char* name, const std::string& text) {
    ASSERT_TRUE(base::WriteFileAtomic(base::JoinPath(folder_, name), text).has_value());
  }
  std::string folder_;
};

StepRecord SomeStep(int64_t step) {
  StepRecord record;
  record.step = step;
  record.epoch = 1;
  record.samples_total = step * 16;
  record.rank_samples = 8;
  record.start_ns = 1'234'567'890'123'456'789;  // beyond 2^53: must stay exact
  record.step_ns = 5'000'001;
  record.forward_ns = 2'000'000;
  record.minor_faults = 3;
  record.cpu_seconds = 0.1;
  record.loss = 0.30000000000000004;
  record.sample_digest = "00ff";
  record.major_faults = 2;
  record.run_queue_ns = 1'500;
  record.resident_bytes = 1 << 20;
  if (step % 2 == 0) {
    record.parameter_hash = "p";
    record.reduced_gradient_hash = "r";
    record.sample_hash = "s";
    record.local_gradient_hash = "l";
  }
  return record;
}

TEST_F(RunRecordTest, RunComesBackFromItsFolder) {
  RunSummary summary;
  summary.status = "done";
  summary.world_size = 2;
  summary.parameters = 1234;
  summary.train_seconds = 12.25;
  summary.target_reached = true;
  summary.samples_to_target = 640;
  summary.restarts = 1;
  summary.parameters_sha256 = "ab";
  summary.runtime = {{"transport", "gloo"}, {"threads", "1"}};
  summary.rank_cpu_seconds = {1.5, 2.5};
  summary.host.Set("cores", 2);
  summary.hardware_tags = {"h", "h"};
  summary.runtime_tags = {"r", "other"};
  Write("run.json", ToJson(summary).Dump());
  EvalRecord eval;
  eval.step = 2;
  eval.relative_mae = 0.25;
  Write("metrics.jsonl", ToJson(SomeStep(1)).Dump(-1) + "\n" +
                             ToJson(SomeStep(2)).Dump(-1) + "\n" +
                             ToJson(eval).Dump(-1) + "\n");
  Write("metrics.rank1.jsonl", ToJson(SomeStep(1)).Dump(-1) + "\n");

  const auto run = ReadRun(folder_);
  ASSERT_TRUE(run.has_value()) << Describe(run.error());
  EXPECT_EQ(ToJson(run->summary).Dump(), ToJson(summary).Dump());
  ASSERT_EQ(run->steps.size(), 2U);
  ASSERT_EQ(run->steps[0].size(), 2U);
  ASSERT_EQ(run->steps[1].size(), 1U);
  EXPECT_EQ(ToJson(run->steps[0][1]).Dump(), ToJson(SomeStep(2)).Dump());
  EXPECT_EQ(run->steps[0][0].start_ns, 1'234'567'890'123'456'789);
  EXPECT_EQ(run->steps[0][1].local_gradient_hash, "l");
  EXPECT_EQ(run->steps[0][0].local_gradient_hash, "");
  EXPECT_FALSE(ToJson(SomeStep(1)).Has("parameter_hash"));  // that step was not hashed
  EXPECT_EQ(run->steps[0][0].throttled_ns, -1);             // unknown stays unknown
  ASSERT_EQ(run->evals.size(), 1U);
  EXPECT_EQ(run->evals[0].relative_mae, 0.25);
  EXPECT_EQ(run->skipped_lines, 0);
}

TEST_F(RunRecordTest, DamagedLinesAreCountedAndTheRestIsKept) {
  RunSummary summary;
  summary.status = "failed";
  Write("run.json", ToJson(summary).Dump());
  Write("metrics.jsonl", ToJson(SomeStep(1)).Dump(-1) +
                             "\nnot json\n{\"kind\": \"step\"}\n\n" +
                             ToJson(SomeStep(2)).Dump(-1).substr(0, 40));
  const auto run = ReadRun(folder_);
  ASSERT_TRUE(run.has_value());
  EXPECT_EQ(run->steps[0].size(), 1U);
  EXPECT_EQ(run->skipped_lines, 3);  // no JSON, no step, cut off
}

TEST_F(RunRecordTest, MetricsOfARunThatStillRunsAreReadWithoutItsSummary) {
  Write("metrics.rank1.jsonl", ToJson(SomeStep(1)).Dump(-1) + "\n" +
                                   ToJson(SomeStep(2)).Dump(-1).substr(0, 9));
  const auto run = ReadRunMetrics(folder_, 2);
  ASSERT_TRUE(run.has_value()) << Describe(run.error());
  ASSERT_EQ(run->steps.size(), 2U);
  EXPECT_TRUE(run->steps[0].empty());
  EXPECT_EQ(run->steps[1].size(), 1U);
  EXPECT_EQ(run->skipped_lines, 1);
  EXPECT_EQ(ReadRunMetrics(folder_, 0).error().id, "REC-0010");
}

TEST_F(RunRecordTest, UnfinishedOrForeignFolderIsRefused) {
  const auto missing = ReadRun(folder_);
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().id, "REC-0004");
  Write("run.json", R"({"schema": "other/1"})");
  ASSERT_FALSE(ReadRun(folder_).has_value());
  Write("run.json", "{ cut");
  EXPECT_EQ(ReadRun(folder_).error().id, "REC-0004");
}

TEST_F(RunRecordTest, RankCountOfADamagedSummaryIsBounded) {
  RunSummary summary;
  summary.world_size = 2'000'000'000;
  Write("run.json", ToJson(summary).Dump());
  const auto run = ReadRun(folder_);
  ASSERT_FALSE(run.has_value());
  EXPECT_EQ(run.error().id, "REC-0010");
}

}  // namespace
}  // namespace stepslack::record

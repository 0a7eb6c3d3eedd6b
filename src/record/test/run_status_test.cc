#include "stepslack/record/run_status.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "stepslack/base/file.h"

namespace stepslack::record {
namespace {

class RunStatusTest : public testing::Test {
 protected:
  RunStatusTest()
      : folder_(testing::TempDir() + "status_" + std::to_string(::getpid())) {
    EXPECT_TRUE(base::MakeFolders(folder_).has_value());
  }
  ~RunStatusTest() override { std::filesystem::remove_all(folder_); }
  std::string folder_;
};

RunStatus Halfway() {
  RunStatus status;
  status.state = RunState::kRunning;
  status.process = 4711;
  status.world_size = 2;
  status.step = 120;
  status.samples = 960;
  status.total_samples = 3000;
  status.loss = 0.23142;
  status.samples_per_second = 41.2;
  status.efficiency = 0.934;
  status.eta_seconds = 49.5;
  status.checkpoint_step = 100;
  status.updated_unix_ms = 1'800'000'000'123;
  return status;
}

TEST_F(RunStatusTest, ComesBackAsItWasWritten) {
  ASSERT_TRUE(WriteRunStatus(folder_, Halfway()).has_value());
  const auto read = ReadRunStatus(folder_);
  ASSERT_TRUE(read.has_value()) << Describe(read.error());
  EXPECT_EQ(ToJson(*read).Dump(), ToJson(Halfway()).Dump());
  EXPECT_EQ(base::ListFolder(folder_)->size(), 1U);  // no temporary file is left
}

TEST_F(RunStatusTest, AReaderNeverSeesHalfOfOne) {
  ASSERT_TRUE(WriteRunStatus(folder_, Halfway()).has_value());
  std::atomic<bool> stop = false;
  std::jthread writer([&] {
    RunStatus status = Halfway();
    while (!stop) {
      status.error.assign(static_cast<size_t>(++status.step % 3000), 'x');
      (void)WriteRunStatus(folder_, status);
    }
  });
  for (int i = 0; i < 500; ++i) {
    const auto read = ReadRunStatus(folder_);
    ASSERT_TRUE(read.has_value()) << Describe(read.error());
    EXPECT_EQ(read->samples, 960);
  }
  stop = true;
}

TEST_F(RunStatusTest, ForeignAndDamagedFilesAreRefused) {
  EXPECT_EQ(ReadRunStatus(folder_).error().id, "BASE-0001");
  for (const char* text :
       {"{ cut", "{}", R"({"schema": "stepslack.run/1"})",
        R"({"schema": "stepslack.status/1", "state": "dreaming"})"}) {
    ASSERT_TRUE(base::WriteFileAtomic(folder_ + "/status.json", text).has_value());
    const auto read = ReadRunStatus(folder_);
    ASSERT_FALSE(read.has_value()) << text;
    EXPECT_EQ(read.error().id, "REC-0020");
  }
}

TEST_F(RunStatusTest, AFolderThatIsNotThereIsAnError) {
  const auto written = WriteRunStatus(folder_ + "/none", Halfway());
  ASSERT_FALSE(written.has_value());
  EXPECT_EQ(written.error().id, "REC-0021");
  EXPECT_EQ(written.error().exit_code, base::ExitCode::kEnvironment);
}

TEST_F(RunStatusTest, AFailedRunKeepsItsProgress) {
  ASSERT_TRUE(WriteRunStatus(folder_, Halfway()).has_value());
  MarkRunFailed(folder_, "error[COMM-0002]: rank 0: lost a peer", 2);
  const auto read = ReadRunStatus(folder_);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->state, RunState::kFailed);
  EXPECT_EQ(read->step, 120);
  EXPECT_EQ(read->checkpoint_step, 100);
  EXPECT_EQ(read->eta_seconds, -1);
  EXPECT_EQ(read->error, "error[COMM-0002]: rank 0: lost a peer");
}

TEST(ProgressLine, SaysWhatIsKnown) {
  RunStatus status = Halfway();
  EXPECT_EQ(ProgressLine(status),
            "step 120 | 960 of 3000 samples (32 %) | loss 0.2314 | 41.2 samples/s | "
            "efficiency 93 % | ETA 49.5 s");
  status.state = RunState::kEvaluating;
  status.samples_per_second = 0;
  status.eta_seconds = -1;
  EXPECT_EQ(ProgressLine(status),
            "evaluating | step 120 | 960 of 3000 samples (32 %) | loss 0.2314");
  EXPECT_EQ(ProgressLine(RunStatus()), "starting");
}

}  // namespace
}  // namespace stepslack::record

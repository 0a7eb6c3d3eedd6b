#include "stepslack/study/launcher.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <thread>

#include "metrics_tail.h"
#include "stepslack/base/file.h"
#include "stepslack/record/run_status.h"
#include "stepslack/study/rank_run.h"

namespace stepslack::study {
namespace {

// Real processes, scripted: what the launcher does must not depend on who the worker
// is.
class LauncherTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string path = testing::TempDir() + "/launchXXXXXX";
    ASSERT_NE(mkdtemp(path.data()), nullptr);
    folder_ = path;
    context_.progress = &progress_;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  Launcher Script(const std::string& body) {
    const std::string path = folder_ + "/worker.sh";
    EXPECT_TRUE(base::WriteFileAtomic(path, "#!/bin/sh\n" + body).has_value());
    chmod(path.c_str(), 0755);
    auto launcher = FindLauncher(path, folder_ + "/runs");
    EXPECT_TRUE(launcher.has_value());
    return *launcher;
  }
  base::Result<record::RunRecord> Run(const Launcher& launcher, int ranks) {
    return Execute(launcher, {.label = "seed 1", .plan = {}, .world_size = ranks},
                   context_, [](int64_t, double) {});
  }

  std::string folder_;
  base::Progress progress_{base::Progress::Mode::kQuiet};
  base::Context context_;
};

TEST_F(LauncherTest, KilledRankIsNamedThoughAnotherRankReportsAnError) {
  const auto run = Run(Script("[ $STEPSLACK_RANK = 1 ] && kill -9 $$\nsleep 0.2\n"
                              "echo 'error[COMM-0001]: peer closed' >&2\nexit 4\n"),
                       2);
  ASSERT_FALSE(run.has_value());
  EXPECT_EQ(run.error().id, "STUDY-0003");
  EXPECT_EQ(run.error().what, "rank 1 was killed by signal 9 (KILL)");
  EXPECT_EQ(run.error().exit_code, base::ExitCode::kEnvironment);
}

TEST_F(LauncherTest, FailingRankPassesItsMessageAndExitCodeOn) {
  const auto run =
      Run(Script("echo 'error[TRAIN-0001]: x.npy: no such file' >&2\nexit 3\n"), 1);
  ASSERT_FALSE(run.has_value());
  EXPECT_EQ(run.error().id, "STUDY-0002");
  EXPECT_EQ(run.error().exit_code, base::ExitCode::kInput);
  EXPECT_NE(run.error().what.find("error[TRAIN-0001]: x.npy: no such file"),
            std::string::npos);
}

TEST_F(LauncherTest, SurvivorsAreEndedWhenOneRankFails) {
  const auto run = Run(Script("echo $$ > $2/pid.$STEPSLACK_RANK\n"
                              "[ $STEPSLACK_RANK = 1 ] && exit 70\nsleep 60\n"),
                       2);
  ASSERT_FALSE(run.has_value());
  const std::string runs = folder_ + "/runs";
  const std::string run_folder = runs + "/" + base::ListFolder(runs)->front();
  const int pid = std::stoi(base::ReadFile(run_folder + "/pid.0").value());
  EXPECT_EQ(kill(pid, 0), -1);
}

TEST_F(LauncherTest, SilentRanksAreEndedAfterTheStallLimit) {
  Launcher launcher = Script("sleep 60\n");
  launcher.stall_seconds = 0.3;
  const auto run = Run(launcher, 2);
  ASSERT_FALSE(run.has_value());
  EXPECT_EQ(run.error().id, "STUDY-0004");
}

TEST_F(LauncherTest, StopRequestEndsTheRanks) {
  std::atomic<bool> stop = true;
  context_.stop = &stop;
  const auto run = Run(Script("sleep 60\n"), 1);
  ASSERT_FALSE(run.has_value());
  EXPECT_EQ(run.error().exit_code, base::ExitCode::kInterrupted);
}

// As torchrun starts a process for every rank: each runs its own, and none of them is
// the launcher that would see all.
TEST_F(LauncherTest, ARankOfTorchrunThatIsKilledIsNotedInTheStatus) {
  const std::map<std::string, std::string> variables = {{"RANK", "1"},
                                                        {"WORLD_SIZE", "2"},
                                                        {"LOCAL_RANK", "1"},
                                                        {"LOCAL_WORLD_SIZE", "2"},
                                                        {"MASTER_ADDR", "127.0.0.1"},
                                                        {"MASTER_PORT", "29500"}};
  for (const auto& [name, value] : variables) ::setenv(name.c_str(), value.c_str(), 1);
  const auto environment = record::ReadRankEnvironment();
  for (const auto& [name, value] : variables) ::unsetenv(name.c_str());
  ASSERT_TRUE(environment.has_value()) << Describe(environment.error());
  const Launcher launcher = Script("kill -9 $$\n");
  const std::string folder = folder_ + "/run";
  ASSERT_TRUE(base::MakeFolders(folder).has_value());
  const base::Status ended = ExecuteRank(launcher, folder, "seed 1", *environment,
                                         context_, [](int64_t, double) {});
  ASSERT_FALSE(ended.has_value());
  EXPECT_EQ(ended.error().id, "STUDY-0003");
  const auto status = record::ReadRunStatus(folder);
  ASSERT_TRUE(status.has_value()) << Describe(status.error());
  EXPECT_EQ(status->state, record::RunState::kFailed);
  EXPECT_NE(status->error.find("rank 1 was killed by signal 9 (KILL)"),
            std::string::npos)
      << status->error;
  EXPECT_EQ(status->world_size, 2);
}

TEST_F(LauncherTest, MissingWorkerIsAnEnvironmentError) {
  const auto launcher = FindLauncher(folder_ + "/nothing", folder_);
  ASSERT_FALSE(launcher.has_value());
  EXPECT_EQ(launcher.error().id, "STUDY-0001");
}

TEST_F(LauncherTest, RunIdentityFollowsContentNotPlace) {
  const Launcher launcher = Script("exit 0\n");
  RunRequest request{.label = "a", .plan = {}, .world_size = 2};
  request.plan.inputs_path = "/room1/objects/ab/abc";
  const std::string id = RunId(launcher, request);
  request.plan.inputs_path = "/room2/objects/ab/abc";
  request.label = "b";
  EXPECT_EQ(RunId(launcher, request), id);
  request.plan.seed = 2;
  EXPECT_NE(RunId(launcher, request), id);
}

TEST_F(LauncherTest, TailReadsOnlyWholeLinesAndStartsOverAfterARewrite) {
  const std::string path = folder_ + "/metrics.jsonl";
  ASSERT_TRUE(base::WriteFileAtomic(path,
                                    "{\"kind\":\"step\",\"samples_total\":16}\n"
                                    "{\"kind\":\"eval\",\"samples_to")
                  .has_value());
  MetricsTail tail(path);
  EXPECT_TRUE(tail.Read());
  EXPECT_EQ(tail.samples(), 16);
  EXPECT_TRUE(std::isnan(tail.relative_mae()));
  EXPECT_FALSE(tail.Read());
  ASSERT_TRUE(
      base::WriteFileAtomic(
          path, "{\"kind\":\"eval\",\"samples_total\":8,\"relative_mae\":0.5}\n")
          .has_value());
  EXPECT_TRUE(tail.Read());
  EXPECT_EQ(tail.samples(), 8);
  EXPECT_EQ(tail.relative_mae(), 0.5);
}

}  // namespace
}  // namespace stepslack::study

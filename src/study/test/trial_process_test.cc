#include "trial_process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "stepslack/base/file.h"

namespace stepslack::study {
namespace {

class TrialProcess : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              ("stepslack_trial_" + std::to_string(getpid()));
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  TrialCommand Command(const std::string& text, double timeout = 30) const {
    return {.folder = folder_,
            .start_in = folder_,
            .command = text,
            .timeout_seconds = timeout};
  }
  std::string Text(const char* name) const {
    return base::ReadFile(folder_ / name).value_or("");
  }

  std::filesystem::path folder_;
  base::Progress quiet_{base::Progress::Mode::kQuiet};
  base::Context context_{.progress = &quiet_};
};

TEST_F(TrialProcess, KeepsOutputAndExitCode) {
  const auto end = RunLocally(Command("echo out; echo err >&2; exit 7"), context_);
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->exit_code, 7);
  EXPECT_EQ(Text("log.txt"), "out\nerr\n");
}

TEST_F(TrialProcess, DoesNotRunWhatHasEnded) {
  ASSERT_TRUE(RunLocally(Command("echo x >> count"), context_).has_value());
  const auto again = RunLocally(Command("echo x >> count"), context_);
  ASSERT_TRUE(again.has_value());
  EXPECT_TRUE(again->found);
  EXPECT_EQ(Text("count"), "x\n");
}

TEST_F(TrialProcess, EndsACommandThatTakesTooLongAndItsChildren) {
  const auto end = RunLocally(Command("sleep 60 & sleep 60", 0.2), context_);
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->how, CommandEnd::How::kTimeout);
  const auto again = RunLocally(Command("true"), context_);
  EXPECT_EQ(again->how, CommandEnd::How::kTimeout);  // an outcome, kept
}

TEST_F(TrialProcess, SaysThatACommandWasKilled) {
  const auto end = RunLocally(Command("kill -9 0"), context_);
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->exit_code, 128 + SIGKILL);
}

// The study dies, the command goes on; the next study waits for it and runs it no
// second time.
TEST_F(TrialProcess, AdoptsACommandWhoseStudyWasKilled) {
  const pid_t study = fork();
  if (study == 0) {
    (void)RunLocally(Command("echo x >> count; sleep 0.5; echo done"), context_);
    _exit(0);
  }
  while (Text("count").empty()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  kill(study, SIGKILL);
  waitpid(study, nullptr, 0);
  const auto end = RunLocally(Command("echo y >> count"), context_);
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->exit_code, 0);
  EXPECT_EQ(Text("count"), "x\n");
  EXPECT_EQ(Text("log.txt"), "done\n");
}

}  // namespace
}  // namespace stepslack::study

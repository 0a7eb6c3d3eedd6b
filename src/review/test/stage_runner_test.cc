#include "stage_runner.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "artifact_writer.h"
#include "stepslack/base/file.h"

namespace stepslack::review {
namespace {

class StageRunnerTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string path = testing::TempDir() + "/stageXXXXXX";
    ASSERT_NE(mkdtemp(path.data()), nullptr);
    folder_ = path;
    context_.progress = &progress_;
    context_.stop = &stop_;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // Runs the stage "count" with the given input; returns how often it was computed so
  // far.
  int Run(store::Room& room, int input) {
    StageRunner runner(room, context_, 1);
    base::Json inputs;
    inputs.Set("input", input);
    const auto output =
        runner.Cached("count", inputs, [&]() -> base::Result<store::StageOutput> {
          ++computed_;
          store::StageOutput made;
          made.value.Set("input", input);
          SS_TRY(made.objects["x"], room.PutBytes(std::to_string(input)));
          return made;
        });
    EXPECT_TRUE(output.has_value());
    EXPECT_EQ(output->value["input"].AsInt(), input);
    return computed_;
  }

  std::string folder_;
  base::Progress progress_{base::Progress::Mode::kQuiet};
  std::atomic<bool> stop_ = false;
  base::Context context_;
  int computed_ = 0;
};

TEST_F(StageRunnerTest, ComputesOncePerInputAlsoAcrossProcessesOfOneRoom) {
  {
    auto room = store::Room::Open(folder_);
    ASSERT_TRUE(room.has_value());
    EXPECT_EQ(Run(*room, 1), 1);
    EXPECT_EQ(Run(*room, 1), 1);
    EXPECT_EQ(Run(*room, 2), 2);
  }
  auto room = store::Room::Open(folder_);
  ASSERT_TRUE(room.has_value());
  EXPECT_EQ(Run(*room, 1), 2);
}

TEST_F(StageRunnerTest, LostObjectIsComputedAgain) {
  auto room = store::Room::Open(folder_);
  ASSERT_TRUE(room.has_value());
  Run(*room, 7);
  std::filesystem::remove(room->ObjectPath(room->PutBytes("7").value()));
  EXPECT_EQ(Run(*room, 7), 2);
}

TEST_F(StageRunnerTest, StopRequestIsAnInterruption) {
  auto room = store::Room::Open(folder_);
  ASSERT_TRUE(room.has_value());
  stop_ = true;
  StageRunner runner(*room, context_, 1);
  const auto output = runner.Cached("x", {}, []() -> base::Result<store::StageOutput> {
    return store::StageOutput{};
  });
  ASSERT_FALSE(output.has_value());
  EXPECT_EQ(output.error().exit_code, base::ExitCode::kInterrupted);
}

TEST_F(StageRunnerTest, ChangedAndLostFilesAreRestoredFromObjects) {
  auto room = store::Room::Open(folder_);
  ASSERT_TRUE(room.has_value());
  ArtifactWriter writer(*room);
  ASSERT_TRUE(writer.WriteArtifact("memo", "memo.md", "good").has_value());
  ASSERT_TRUE(writer.Write("sub/a.json", "{}").has_value());
  ASSERT_TRUE(base::WriteFileAtomic(folder_ + "/memo.md", "bad").has_value());
  std::filesystem::remove(folder_ + "/sub/a.json");
  ASSERT_TRUE(RestoreFiles(*room, writer.objects()).has_value());
  EXPECT_EQ(base::ReadFile(folder_ + "/memo.md").value(), "good");
  EXPECT_EQ(base::ReadFile(folder_ + "/sub/a.json").value(), "{}");
  ASSERT_EQ(writer.artifacts().size(), 1u);
  EXPECT_EQ(writer.artifacts()[0].name, "memo");
}

}  // namespace
}  // namespace stepslack::review

#include "checkpoint_writer.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <numeric>

#include "checkpoint_folder.h"
#include "stepslack/base/file.h"
#include "stepslack/comm/connect.h"
#include "stepslack/comm/transport.h"

namespace stepslack::train {
namespace {

class CheckpointWriterTest : public testing::Test {
 protected:
  CheckpointWriterTest()
      : folder_(testing::TempDir() + "checkpoints_" + std::to_string(::getpid())) {
    std::filesystem::remove_all(folder_);
    EXPECT_TRUE(base::MakeFolders(folder_).has_value());
  }
  ~CheckpointWriterTest() override { std::filesystem::remove_all(folder_); }

  // The named arrays of a state whose two buffers hold `value`.
  std::vector<NamedArray> State(float value) {
    values_.assign(kFloats, value);
    moments_.assign(kFloats, -value);
    std::vector<NamedArray> arrays;
    AddState("value", {}, values_, arrays);
    AddState("optimizer.moment1", {}, moments_, arrays);
    return arrays;
  }
  std::vector<int64_t> Steps() const {
    std::vector<int64_t> steps;
    for (const CheckpointFile& file : ListCheckpoints(folder_)) {
      steps.push_back(file.step);
    }
    return steps;
  }
  model::StateFile Read(int64_t step) const {
    const std::string path = CheckpointPath(folder_, step);
    const auto bytes = base::ReadFile(path);
    EXPECT_TRUE(bytes.has_value());
    auto state = model::DecodeState(bytes.value_or(""), path);
    EXPECT_TRUE(state.has_value()) << Describe(state.error());
    return state.value_or(model::StateFile());
  }
  base::Result<std::optional<FoundCheckpoint>> Find() {
    comm::Communicator alone(comm::MakeSelfTransport(), 10, nullptr);
    return FindCheckpoint(folder_, alone);
  }
  void Damage(int64_t step) {
    const std::string path = CheckpointPath(folder_, step);
    std::string bytes = base::ReadFile(path).value();
    bytes.resize(bytes.size() / 2);
    ASSERT_TRUE(base::WriteFileAtomic(path, bytes).has_value());
  }

  static constexpr size_t kFloats = 1 << 18;
  std::string folder_;
  std::vector<float> values_;
  std::vector<float> moments_;
};

TEST_F(CheckpointWriterTest, WhatChangesAfterSaveReturnsIsNotInTheFile) {
  CheckpointWriter writer({folder_, 2, true});
  const auto arrays = State(1.5F);
  ASSERT_TRUE(writer.Save(1, "{}", arrays).has_value());
  std::fill(values_.begin(), values_.end(), 99.0F);
  std::fill(moments_.begin(), moments_.end(), 99.0F);
  ASSERT_TRUE(writer.Finish().has_value());
  const model::StateFile state = Read(1);
  EXPECT_EQ(state.text, "{}");
  ASSERT_EQ(state.arrays.size(), 2U);
  EXPECT_EQ(state.arrays.at("value").values, std::vector<float>(kFloats, 1.5F));
  EXPECT_EQ(state.arrays.at("optimizer.moment1").values,
            std::vector<float>(kFloats, -1.5F));
}

TEST_F(CheckpointWriterTest, SavesInQuickSuccessionAreAllWholeAndInOrder) {
  for (const bool asynchronous : {true, false}) {
    CheckpointWriter writer({folder_, 100, asynchronous});
    for (int step = 1; step <= 4; ++step) {
      ASSERT_TRUE(writer.Save(step, "{}", State(static_cast<float>(step))).has_value());
    }
    ASSERT_TRUE(writer.Finish().has_value());
    EXPECT_EQ(writer.cost().saves, 4);
    EXPECT_EQ(Steps(), (std::vector<int64_t>{4, 3, 2, 1}));
    for (int step = 1; step <= 4; ++step) {
      EXPECT_EQ(Read(step).arrays.at("value").values,
                std::vector<float>(kFloats, static_cast<float>(step)));
    }
    std::filesystem::remove_all(folder_);
  }
}

TEST_F(CheckpointWriterTest, OnlyTheLastOnesAreKept) {
  CheckpointWriter writer({folder_, 2, true});
  for (int step : {2, 9, 10, 100}) {
    ASSERT_TRUE(writer.Save(step, "{}", State(1)).has_value());
  }
  ASSERT_TRUE(writer.Finish().has_value());
  EXPECT_EQ(Steps(), (std::vector<int64_t>{100, 10}));  // numbers, not letters
}

TEST_F(CheckpointWriterTest, AFullDiskIsAnErrorAndLeavesTheOlderOnesAlone) {
  CheckpointWriter writer({folder_, 1, true});
  ASSERT_TRUE(writer.Save(1, "{}", State(1)).has_value());
  ASSERT_TRUE(writer.Finish().has_value());
  // A limit on the size of files stops the write half way, as a full disk does.
  rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  rlimit small = old;
  small.rlim_cur = 1 << 20;
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const base::Status saved = writer.Save(2, "{}", State(2));
  const base::Status finished = writer.Finish();
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &old), 0);
  ::signal(SIGXFSZ, handler);
  EXPECT_TRUE(saved.has_value());  // it has only been copied
  EXPECT_EQ(writer.durable_step(), 1);
  ASSERT_FALSE(finished.has_value());
  EXPECT_EQ(finished.error().id, "BASE-0002");
  EXPECT_EQ(finished.error().where, CheckpointPath(folder_, 2));
  EXPECT_EQ(writer.Poll().error().id, "BASE-0002");
  EXPECT_EQ(writer.Save(3, "{}", State(3)).error().id, "BASE-0002");
  EXPECT_EQ(Steps(), (std::vector<int64_t>{1}));
  EXPECT_EQ(Read(1).arrays.at("value").values[0], 1.0F);
  EXPECT_EQ(base::ListFolder(folder_ + "/checkpoints")->size(), 1U);
}

TEST_F(CheckpointWriterTest, ADamagedNewestIsSetAsideAndTheOneBeforeItTaken) {
  CheckpointWriter writer({folder_, 5, true});
  for (int step : {1, 2, 3}) {
    ASSERT_TRUE(writer.Save(step, "{}", State(static_cast<float>(step))).has_value());
  }
  ASSERT_TRUE(writer.Finish().has_value());
  Damage(3);
  ASSERT_TRUE(base::WriteFileAtomic(CheckpointPath(folder_, 4), "").has_value());
  testing::internal::CaptureStderr();
  const auto found = Find();
  const std::string log = testing::internal::GetCapturedStderr();
  ASSERT_TRUE(found.has_value()) << Describe(found.error());
  ASSERT_TRUE(found->has_value());
  EXPECT_EQ((*found)->path, CheckpointPath(folder_, 2));
  EXPECT_EQ((*found)->skipped, 2);
  EXPECT_EQ((*found)->state.arrays.at("value").values[7], 2.0F);
  for (int64_t step : {3, 4}) {
    const std::string path = CheckpointPath(folder_, step);
    EXPECT_NE(log.find("warning[TRAIN-0060]: " + path + ": skipped: "),
              std::string::npos)
        << log;
    EXPECT_TRUE(base::PathExists(path + ".damaged"));
  }
  EXPECT_EQ(Steps(), (std::vector<int64_t>{2, 1}));
}

TEST_F(CheckpointWriterTest, NothingToFindIsNoErrorAndOnlyDamageIs) {
  EXPECT_FALSE(Find().value().has_value());
  ASSERT_TRUE(base::WriteFileAtomic(CheckpointPath(folder_, 5), "PK").has_value());
  testing::internal::CaptureStderr();
  const auto found = Find();
  testing::internal::GetCapturedStderr();
  ASSERT_FALSE(found.has_value());
  EXPECT_EQ(found.error().id, "TRAIN-0061");
  EXPECT_EQ(found.error().what, "all 1 checkpoints are damaged");
}

TEST_F(CheckpointWriterTest, HalfWrittenAndForeignFilesAreNotCheckpoints) {
  CheckpointWriter writer({folder_, 5, false});
  ASSERT_TRUE(writer.Save(7, "{}", State(7)).has_value());
  const std::string half = folder_ + "/checkpoints/.tmp.Ab12Cd";
  for (const std::string& path :
       {half, folder_ + "/checkpoints/step008.pt", folder_ + "/checkpoints/step-9.pt",
        folder_ + "/checkpoints/step.pt", folder_ + "/checkpoints/step10.pt.damaged",
        folder_ + "/checkpoints/step11"}) {
    ASSERT_TRUE(base::WriteFileAtomic(path, "?").has_value());
  }
  EXPECT_EQ(Steps(), (std::vector<int64_t>{7}));
  EXPECT_EQ(Find().value()->path, CheckpointPath(folder_, 7));
  EXPECT_FALSE(base::PathExists(half));
}

}  // namespace
}  // namespace stepslack::train

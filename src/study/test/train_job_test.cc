#include "stepslack/study/train_job.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "stepslack/base/file.h"
#include "stepslack/record/array_file.h"

namespace stepslack::study {
namespace {

using base::JoinPath;

class TrainJobTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = JoinPath(testing::TempDir(),
                       testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(folder_);
    ASSERT_TRUE(base::MakeFolders(folder_).has_value());
  }
  std::string Write(const std::string& name, const std::string& text) {
    const std::string path = JoinPath(folder_, name);
    EXPECT_TRUE(base::WriteFileAtomic(path, text).has_value());
    return path;
  }
  base::Result<PreparedData> Prepare(TrainJob& job) {
    auto room = store::Room::Open(JoinPath(folder_, "room"));
    EXPECT_TRUE(room.has_value());
    base::Progress quiet(base::Progress::Mode::kQuiet);
    base::Context context;
    context.progress = &quiet;
    return PrepareTrainData(job, *room, context);
  }
  std::string folder_;
};

TEST_F(TrainJobTest, KeysOverrideTheDefaultsOfThePlan) {
  const auto job = ReadTrainJob(Write("run.toml", R"(
ranks = 3
[data]
source = "arrays"
inputs = "x.npy"
targets = "/data/y.npy"
[split]
policy = "random"
[model]
name = "mlp"
hidden = [8, 4]
[train]
samples = 100
optimizer = "lamb"
[comm]
backend = "gloo"
timeout_seconds = 2.5
)"));
  ASSERT_TRUE(job.has_value()) << Describe(job.error());
  EXPECT_EQ(job->ranks, 3);
  EXPECT_EQ(job->data.inputs, JoinPath(folder_, "x.npy"));
  EXPECT_EQ(job->data.targets, "/data/y.npy");
  EXPECT_EQ(job->plan.hidden, (std::vector<int>{8, 4}));
  EXPECT_EQ(job->plan.optimizer, "lamb");
  EXPECT_EQ(job->plan.backend, "gloo");
  EXPECT_EQ(job->plan.timeout_seconds, 2.5);
  EXPECT_EQ(job->plan.warmup_samples, 10);  // a tenth of a short run
  EXPECT_EQ(job->plan.schedule, record::TrainPlan().schedule);
}

TEST_F(TrainJobTest, AWrongValueIsNamedWithItsLineAndWhatIsAllowed) {
  const auto job = ReadTrainJob(Write("run.toml", R"(
[data]
source = "embedded"
[train]
optimizer = "adamx"
)"));
  ASSERT_FALSE(job.has_value());
  EXPECT_EQ(job.error().id, "CONF-0003");
  EXPECT_NE(job.error().where.find("run.toml:5"), std::string::npos);
  EXPECT_NE(job.error().help.find("adamw, sgd, lamb"), std::string::npos);
}

TEST_F(TrainJobTest, AnUnknownKeyIsRefusedWithTheNearestKnownOne) {
  const auto job = ReadTrainJob(Write("run.toml", R"(
[data]
source = "embedded"
[train]
lerning_rate = 1.0
)"));
  ASSERT_FALSE(job.has_value());
  EXPECT_EQ(job.error().id, "CONF-0002");
  EXPECT_NE(job.error().help.find("learning_rate"), std::string::npos);
}

TEST_F(TrainJobTest, EmbeddedMapsAreMadeOnceAndDividedByFamily) {
  const std::string text = R"(
[data]
source = "embedded"
families = 10
variants = 2
tile = 16
)";
  auto job = ReadTrainJob(Write("run.toml", text));
  ASSERT_TRUE(job.has_value()) << Describe(job.error());
  const auto made = Prepare(*job);
  ASSERT_TRUE(made.has_value()) << Describe(made.error());
  EXPECT_EQ(made->samples, 20);
  EXPECT_EQ(job->plan.train_indices.size(), 16U);
  EXPECT_EQ(job->plan.validation_indices.size(), 2U);
  EXPECT_EQ(job->plan.test_indices.size(), 2U);
  // Variants of one family (2k and 2k + 1) stay together.
  EXPECT_EQ(job->plan.test_indices[0] / 2, job->plan.test_indices[1] / 2);

  auto again = ReadTrainJob(Write("again.toml", text));
  const auto found = Prepare(*again);
  ASSERT_TRUE(found.has_value()) << Describe(found.error());
  EXPECT_EQ(found->sha256, made->sha256);
  EXPECT_EQ(again->plan.inputs_path, job->plan.inputs_path);
}

TEST_F(TrainJobTest, ArraysAreDividedByTheGroupsOfTheirFile) {
  ASSERT_TRUE(record::WriteNpy(JoinPath(folder_, "x.npy"), {6, 1},
                               std::vector<float>(6, 1.0F).data())
                  .has_value());
  ASSERT_TRUE(record::WriteNpy(JoinPath(folder_, "y.npy"), {6, 1},
                               std::vector<float>(6, 2.0F).data())
                  .has_value());
  Write("groups.txt", "a\nb\na\nc\nb\nc\n");
  auto job = ReadTrainJob(Write("run.toml", R"(
[data]
source = "arrays"
inputs = "x.npy"
targets = "y.npy"
groups = "groups.txt"
[model]
name = "mlp"
[train]
global_batch = 2
)"));
  ASSERT_TRUE(job.has_value()) << Describe(job.error());
  const auto prepared = Prepare(*job);
  ASSERT_TRUE(prepared.has_value()) << Describe(prepared.error());
  EXPECT_EQ(prepared->groups, 3);
  const std::set<std::vector<int64_t>> groups = {{0, 2}, {1, 4}, {3, 5}};
  EXPECT_TRUE(groups.contains(job->plan.train_indices));
  EXPECT_TRUE(groups.contains(job->plan.validation_indices));
  EXPECT_TRUE(groups.contains(job->plan.test_indices));

  Write("groups.txt", "a\nb\n");
  const auto short_file = Prepare(*job);
  ASSERT_FALSE(short_file.has_value());
  EXPECT_EQ(short_file.error().id, "STUDY-0024");
}

TEST_F(TrainJobTest, AFolderOfShardsCountsAllOfThem) {
  for (const char* name : {"x", "y"}) {
    ASSERT_TRUE(base::MakeFolders(JoinPath(folder_, name)).has_value());
    for (const auto& [shard, rows] : {std::pair{"/0.npy", 3}, std::pair{"/1.npy", 2}}) {
      ASSERT_TRUE(record::WriteNpy(JoinPath(folder_, name) + shard, {rows, 1},
                                   std::vector<float>(3, 1.0F).data())
                      .has_value());
    }
  }
  auto job = ReadTrainJob(Write("run.toml", R"(
[data]
source = "arrays"
inputs = "x"
targets = "y"
[split]
policy = "random"
[model]
name = "mlp"
[train]
global_batch = 3
)"));
  ASSERT_TRUE(job.has_value()) << Describe(job.error());
  const auto prepared = Prepare(*job);
  ASSERT_TRUE(prepared.has_value()) << Describe(prepared.error());
  EXPECT_EQ(prepared->samples, 5);
  EXPECT_EQ(prepared->notes.size(), 1U);  // the random split's warning
  EXPECT_EQ(job->plan.hidden, (std::vector<int>{256, 256}));

  ASSERT_TRUE(base::MakeFolders(JoinPath(folder_, "empty")).has_value());
  job->data.inputs = JoinPath(folder_, "empty");
  const auto refused = Prepare(*job);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().id, "REC-0300");
}

TEST_F(TrainJobTest, PlainMistakesInArraysAreFoundBeforeRanksStart) {
  const auto write = [this](const std::string& name, std::vector<int64_t> shape) {
    ASSERT_TRUE(record::WriteNpy(JoinPath(folder_, name), shape,
                                 std::vector<float>(600, 1.0F).data())
                    .has_value());
  };
  ASSERT_TRUE(base::MakeFolders(JoinPath(folder_, "x")).has_value());
  write("x/0.npy", {3, 4});
  write("x/1.npy", {3, 5});
  write("y.npy", {6, 1});
  auto job = ReadTrainJob(Write("run.toml", R"(
[data]
source = "arrays"
inputs = "x"
targets = "y.npy"
[split]
policy = "random"
[model]
name = "mlp"
[train]
global_batch = 5
)"));
  ASSERT_TRUE(job.has_value()) << Describe(job.error());
  const auto error = [&] {
    const auto prepared = Prepare(*job);
    return prepared.has_value() ? base::Error() : prepared.error();
  };
  EXPECT_EQ(error().id, "TRAIN-0310");
  EXPECT_EQ(error().where, JoinPath(folder_, "x/1.npy"));
  EXPECT_NE(error().what.find("[3, 5]"), std::string::npos);
  write("x/1.npy", {2, 4});
  EXPECT_EQ(error().id, "TRAIN-0312");
  EXPECT_EQ(error().what, "there are 5 inputs and 6 targets");
  write("x/1.npy", {3, 4});
  EXPECT_EQ(error().id, "TRAIN-0313");  // 4 to train
  EXPECT_NE(error().where.find("run.toml"), std::string::npos);
  job->plan.global_batch = 4;
  EXPECT_EQ(error().id, "");
  job->plan.model = "unet";
  EXPECT_EQ(error().id, "TRAIN-0311");
}

TEST_F(TrainJobTest, ScalingTheRateNeedsTheBatchItWasFoundWith) {
  const auto job = ReadTrainJob(Write("run.toml", R"(
[data]
source = "embedded"
[train]
learning_rate_scaling = "linear"
)"));
  ASSERT_FALSE(job.has_value());
  EXPECT_NE(job.error().help.find("reference_batch"), std::string::npos);
}

TEST_F(TrainJobTest, ASplitFileThatUsesASampleTwiceIsRefused) {
  for (const char* name : {"x.npy", "y.npy"}) {
    ASSERT_TRUE(record::WriteNpy(JoinPath(folder_, name), {4, 1},
                                 std::vector<float>(4, 1.0F).data())
                    .has_value());
  }
  Write("split.json", R"({"train": [0, 1], "validation": [1], "test": []})");
  auto job = ReadTrainJob(Write("run.toml", R"(
[data]
source = "arrays"
inputs = "x.npy"
targets = "y.npy"
[split]
policy = "file"
file = "split.json"
[model]
name = "mlp"
[train]
global_batch = 2
)"));
  ASSERT_TRUE(job.has_value()) << Describe(job.error());
  const auto refused = Prepare(*job);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().id, "STUDY-0021");
  EXPECT_NE(refused.error().what.find("validation"), std::string::npos);

  Write("split.json", R"({"train": [0, 1], "validation": [2], "test": [3]})");
  const auto good = Prepare(*job);
  ASSERT_TRUE(good.has_value()) << Describe(good.error());
  EXPECT_EQ(job->plan.test_indices, (std::vector<int64_t>{3}));
}

}  // namespace
}  // namespace stepslack::study

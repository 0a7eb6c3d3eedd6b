#include "row_shards.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "map_set.h"
#include "stepslack/base/file.h"
#include "stepslack/record/array_file.h"
#include "tiny_run.h"

namespace stepslack::train {
namespace {

class RowShardsTest : public testing::Test {
 protected:
  RowShardsTest()
      : folder_(testing::TempDir() + "shards_" + std::to_string(::getpid())) {
    std::filesystem::remove_all(folder_);
    EXPECT_TRUE(base::MakeFolders(folder_).has_value());
  }
  ~RowShardsTest() override { std::filesystem::remove_all(folder_); }
  void Write(const std::string& name, const std::vector<int64_t>& shape,
             const std::vector<float>& values) const {
    EXPECT_TRUE(record::WriteNpy(base::JoinPath(folder_, name), shape, values.data())
                    .has_value());
  }
  std::string ErrorId() const {
    const auto rows = RowShards::Open(folder_);
    return rows.has_value() ? "" : rows.error().id;
  }
  std::string folder_;
};

TEST_F(RowShardsTest, AFolderIsReadInTheOrderOfNames) {
  Write("b.npy", {1, 2}, {5, 6});
  Write("a.npy", {2, 2}, {1, 2, 3, 4});
  Write("c.npy", {0, 2}, {});
  Write("d.npy", {1, 2}, {7, 8});
  Write("notes.txt", {1}, {0});
  const auto rows = RowShards::Open(folder_);
  ASSERT_TRUE(rows.has_value()) << Describe(rows.error());
  EXPECT_EQ(rows->shape(), (std::vector<int64_t>{4, 2}));
  std::vector<float> scratch;
  for (int64_t row = 0; row < 4; ++row) {
    const auto values = rows->Row(row, scratch);
    ASSERT_EQ(values.size(), 2U);
    EXPECT_EQ(values[0], static_cast<float>(2 * row + 1));
    EXPECT_EQ(values[1], static_cast<float>(2 * row + 2));
  }
}

TEST_F(RowShardsTest, NamesWhatCanNotBeJoined) {
  EXPECT_EQ(ErrorId(), "REC-0300");
  Write("a.npy", {2, 2}, {1, 2, 3, 4});
  Write("b.npy", {2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(ErrorId(), "TRAIN-0051");
  Write("b.npy", {2}, {1, 2});
  EXPECT_EQ(ErrorId(), "TRAIN-0051");
  Write("b.npy", {}, {1});
  EXPECT_EQ(ErrorId(), "TRAIN-0051");
  ASSERT_TRUE(base::WriteFileAtomic(folder_ + "/b.npy", "?").has_value());
  EXPECT_EQ(ErrorId(), "REC-0001");
}

TEST_F(RowShardsTest, MapsInShardsAreTheMapsOfOneFile) {
  TinyRun run("sharded");
  const MapSet whole = MapSet::Load(run.plan).value();
  constexpr int64_t kCut = 5;
  const auto write = [&](const std::string& part, int64_t first, int64_t count) {
    const int64_t pixels = TinyRun::kSide * TinyRun::kSide;
    const int64_t map = TinyRun::kChannels * pixels;
    ASSERT_TRUE(
        record::WriteNpy(run.Path("in/" + part),
                         {count, TinyRun::kChannels, TinyRun::kSide, TinyRun::kSide},
                         run.inputs.data() + first * map)
            .has_value());
    ASSERT_TRUE(record::WriteNpy(run.Path("out/" + part),
                                 {count, TinyRun::kSide, TinyRun::kSide},
                                 run.targets.data() + first * pixels)
                    .has_value());
  };
  write("0.npy", 0, kCut);
  write("1.npy", kCut, TinyRun::kMaps - kCut);
  run.plan.inputs_path = run.Path("in");
  run.plan.targets_path = run.Path("out");
  const MapSet parts = MapSet::Load(run.plan).value();
  EXPECT_EQ(parts.Facts().Dump(), whole.Facts().Dump());
  std::vector<float> a(static_cast<size_t>(whole.Size(0).inputs)), b(a.size());
  for (int64_t index : {0, 4, 5, 13}) {
    whole.EncodeInputs(index, 3, a);
    parts.EncodeInputs(index, 3, b);
    EXPECT_EQ(a, b);
  }
}

}  // namespace
}  // namespace stepslack::train

#include "table_set.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include "stepslack/base/file.h"
#include "stepslack/record/array_file.h"

namespace stepslack::train {
namespace {

// Six rows of two features and two outputs; rows 0, 2 and 4 are for training.
class TableSetTest : public testing::Test {
 protected:
  TableSetTest() : folder_(testing::TempDir() + "table_" + std::to_string(::getpid())) {
    EXPECT_TRUE(base::MakeFolders(folder_).has_value());
    plan_.model = "mlp";
    plan_.inputs_path = base::JoinPath(folder_, "x.npy");
    plan_.targets_path = base::JoinPath(folder_, "y.npy");
    plan_.train_indices = {4, 0, 2};
    plan_.validation_indices = {1};
    plan_.test_indices = {5};
  }
  ~TableSetTest() override { std::filesystem::remove_all(folder_); }
  static void Write(const std::string& path, const std::string& bytes) {
    std::ofstream file(path, std::ios::binary);
    file << bytes;
    EXPECT_TRUE(file.flush().good());
  }
  base::Result<TableSet> Load() {
    Write(plan_.inputs_path, record::EncodeNpy(input_shape_, inputs_.data()));
    Write(plan_.targets_path, record::EncodeNpy(target_shape_, targets_.data()));
    return TableSet::Load(plan_);
  }
  std::string ErrorId() {
    const auto table = Load();
    return table.has_value() ? "" : table.error().id;
  }

  std::string folder_;
  record::TrainPlan plan_;
  std::vector<int64_t> input_shape_ = {6, 2};
  std::vector<int64_t> target_shape_ = {6, 2};
  // The second feature is constant over the training rows.
  std::vector<float> inputs_ = {1, 7, 100, 8, 2, 7, 100, 9, 3, 7, 5, 6};
  std::vector<float> targets_ = {10, 0, 50, 4, 20, 1, 60, 5, 30, 2, 40, 3};
};

TEST_F(TableSetTest, StandardisesByTheTrainingRowsAlone) {
  const TableSet table = Load().value();
  EXPECT_EQ(table.size(), 6);
  EXPECT_EQ(table.planes(), 2);
  EXPECT_EQ(table.outputs(), 2);
  EXPECT_EQ(table.Transforms(true), 1);
  std::vector<float> in(2), out(2);
  // Feature 0 of the training rows is 1, 2, 3: mean 2, deviation sqrt(2/3).
  ASSERT_TRUE(table.Encode(5, 0, {in, out, {}, {}, 0}).has_value());
  EXPECT_FLOAT_EQ(in[0], static_cast<float>((5 - 2) / std::sqrt(2.0 / 3.0)));
  EXPECT_EQ(in[1], 6.0F - 7.0F);  // a constant column is only shifted
  EXPECT_FLOAT_EQ(out[0], static_cast<float>((40 - 20) / std::sqrt(200.0 / 3.0)));
  EXPECT_FLOAT_EQ(out[1], static_cast<float>((3 - 1) / std::sqrt(2.0 / 3.0)));
  std::vector<float> back(2);
  table.Decode(5, out, back);
  EXPECT_FLOAT_EQ(back[0], 40);
  EXPECT_FLOAT_EQ(back[1], 3);
  const std::string facts = table.Facts().Dump();
  inputs_[2] = -4;  // row 1 is for validation
  EXPECT_EQ(Load()->Facts().Dump(), facts);
  inputs_[0] = -4;
  EXPECT_NE(Load()->Facts().Dump(), facts);
}

TEST_F(TableSetTest, OrderOfTheTrainingRowsInThePlanDoesNotMatter) {
  inputs_[0] = 0.1F;
  const std::string facts = Load()->Facts().Dump();
  plan_.train_indices = {0, 4, 2};
  EXPECT_EQ(Load()->Facts().Dump(), facts);
}

TEST_F(TableSetTest, ErrorsAreInTheUnitOfEachTarget) {
  const TableSet table = Load().value();
  ErrorSums sums(2);
  // Zero in network units is the mean of the training targets: 20 and 1.
  table.AddErrors(5, std::vector<float>{0, 0}, sums);
  EXPECT_DOUBLE_EQ(sums.error[0], 20);
  EXPECT_DOUBLE_EQ(sums.error[1], 2);
  EXPECT_DOUBLE_EQ(sums.magnitude[0], 40);
  EXPECT_DOUBLE_EQ(sums.magnitude[1], 3);
  EXPECT_DOUBLE_EQ(sums.values, 2);
  EXPECT_DOUBLE_EQ(sums.loss, 20 / std::sqrt(200.0 / 3.0) + 2 / std::sqrt(2.0 / 3.0));
}

TEST_F(TableSetTest, AVectorOfTargetsIsOneOutput) {
  target_shape_ = {6};
  targets_.resize(6);
  const TableSet table = Load().value();
  EXPECT_EQ(table.outputs(), 1);
  EXPECT_EQ(table.PredictionShape(plan_.test_indices), (std::vector<int64_t>{1, 1}));
}

TEST_F(TableSetTest, NamesEachKindOfBadData) {
  EXPECT_EQ(ErrorId(), "");
  plan_.train_indices.push_back(6);
  EXPECT_EQ(ErrorId(), "TRAIN-0004");
  plan_.train_indices.pop_back();
  inputs_[10] = std::numeric_limits<float>::infinity();
  EXPECT_EQ(ErrorId(), "TRAIN-0005");
  inputs_[10] = 0;
  targets_[2] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(ErrorId(), "TRAIN-0005");
  targets_[2] = 0;
  target_shape_ = {3, 4};
  EXPECT_EQ(ErrorId(), "TRAIN-0300");
  target_shape_ = {6, 2, 1};
  EXPECT_EQ(ErrorId(), "TRAIN-0052");
  target_shape_ = {6, 2};
  input_shape_ = {6, 0};
  EXPECT_EQ(ErrorId(), "TRAIN-0301");
  input_shape_ = {6, 2};
  plan_.categorical_channels = {1};
  EXPECT_EQ(ErrorId(), "TRAIN-0302");
}

TEST(ColumnScale, IsExactFarFromZero) {
  // Deviation 1 around 1e6: sums of squares in one pass would lose it.
  ColumnScale scale(1);
  for (const float value : {999999.0F, 1000001.0F, 999999.0F, 1000001.0F}) {
    scale.Add(std::vector<float>{value});
  }
  scale.Finish();
  EXPECT_DOUBLE_EQ(scale.mean(0), 1e6);
  EXPECT_DOUBLE_EQ(scale.deviation(0), 1);
}

}  // namespace
}  // namespace stepslack::train

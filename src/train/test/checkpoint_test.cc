#include "checkpoint.h"

#include <gtest/gtest.h>

namespace stepslack::train {
namespace {

model::ParameterInfo Parameter(const char* name, std::vector<int64_t> shape,
                               int64_t offset, int64_t count) {
  model::ParameterInfo info;
  info.name = name;
  info.shape = std::move(shape);
  info.offset = offset;
  info.count = count;
  return info;
}

class CheckpointTest : public testing::Test {
 protected:
  CheckpointTest() : buffer_(20), flat_{7, 8, 9} {
    for (size_t i = 0; i < buffer_.size(); ++i) buffer_[i] = static_cast<float>(i);
    data_.Set("target_scale", 0.1);
    cursor_.steps = 12;
    cursor_.samples = 34;
    cursor_.restarts = 1;
    cursor_.train_seconds = 0.1;
    cursor_.rank_cpu_seconds = {1.25, 1e-300};
    cursor_.target = {true, 3.5, 2.5, 30, 3.25};
  }
  std::vector<NamedArray> Arrays() {
    std::vector<NamedArray> arrays;
    AddState("value", {Parameter("a", {2, 2}, 0, 4), Parameter("b", {3}, 16, 3)},
             buffer_, arrays);
    AddState("optimizer.q", {}, flat_, arrays);
    return arrays;
  }
  model::StateFile Saved() {
    model::StateFile state;
    state.text = CheckpointText(plan_, cursor_, data_);
    for (const NamedArray& array : Arrays()) {
      state.arrays[array.name] = {array.shape,
                                  {array.values.begin(), array.values.end()}};
    }
    return state;
  }
  std::string TakeError(const model::StateFile& state) {
    const auto cursor = TakeCheckpoint(state, "step12.pt", plan_, data_, Arrays());
    return cursor.has_value() ? "" : cursor.error().id;
  }

  record::TrainPlan plan_;
  TrainCursor cursor_;
  base::Json data_;
  std::vector<float> buffer_;
  std::vector<float> flat_;
};

TEST_F(CheckpointTest, ArraysHaveTheNamesAndShapesOfParameters) {
  const model::StateFile state = Saved();
  ASSERT_EQ(state.arrays.size(), 3U);
  EXPECT_EQ(state.arrays.at("value.a").shape, (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(state.arrays.at("value.a").values, (std::vector<float>{0, 1, 2, 3}));
  EXPECT_EQ(state.arrays.at("value.b").values, (std::vector<float>{16, 17, 18}));
  EXPECT_EQ(state.arrays.at("optimizer.q").values, (std::vector<float>{7, 8, 9}));
}

TEST_F(CheckpointTest, EverythingComesBack) {
  const model::StateFile state = Saved();
  const std::vector<float> before = buffer_;
  std::fill(buffer_.begin(), buffer_.end(), 0.0F);
  std::fill(flat_.begin(), flat_.end(), 0.0F);
  const auto cursor = TakeCheckpoint(state, "step12.pt", plan_, data_, Arrays());
  ASSERT_TRUE(cursor.has_value()) << Describe(cursor.error());
  for (size_t i : {0, 1, 2, 3, 16, 17, 18}) EXPECT_EQ(buffer_[i], before[i]);
  EXPECT_EQ(flat_, (std::vector<float>{7, 8, 9}));
  EXPECT_EQ(cursor->steps, 12);
  EXPECT_EQ(cursor->samples, 34);
  EXPECT_EQ(cursor->restarts, 1);
  EXPECT_EQ(cursor->train_seconds, 0.1);
  EXPECT_EQ(cursor->rank_cpu_seconds, (std::vector<double>{1.25, 1e-300}));
  EXPECT_TRUE(cursor->target.reached);
  EXPECT_EQ(cursor->target.seconds_to, 3.5);
  EXPECT_EQ(cursor->target.seconds_before, 2.5);
  EXPECT_EQ(cursor->target.samples_to, 30);
  EXPECT_EQ(cursor->target.last_eval_seconds, 3.25);
}

TEST_F(CheckpointTest, WhatDoesNotFitIsNamedAndChangesNothing) {
  const model::StateFile good = Saved();
  model::StateFile state = good;
  state.arrays["optimizer.q"].shape = {1, 3};
  std::fill(buffer_.begin(), buffer_.end(), -1.0F);
  EXPECT_EQ(TakeError(state), "TRAIN-0011");
  state = good;
  state.arrays.erase("value.b");
  EXPECT_EQ(TakeError(state), "TRAIN-0011");
  data_.Set("target_scale", 0.2);
  EXPECT_EQ(TakeError(good), "TRAIN-0013");
  plan_.seed = 9;
  EXPECT_EQ(TakeError(good), "TRAIN-0010");
  EXPECT_EQ(buffer_, std::vector<float>(20, -1.0F));
}

TEST_F(CheckpointTest, WhatChangesNoParameterIsNotInTheDigestOfThePlan) {
  record::TrainPlan other = plan_;
  other.inputs_path = "/elsewhere/" + plan_.inputs_path;
  other.loader_threads = 7;
  other.prefetch_batches = 9;
  other.keep_checkpoints = 5;
  other.async_checkpoint = !plan_.async_checkpoint;
  other.checkpoint_every_samples = 1;
  other.timeout_seconds = 5;
  other.fault = "nan_gradient";
  EXPECT_EQ(PlanDigest(other), PlanDigest(plan_));
  other.global_batch += 1;
  EXPECT_NE(PlanDigest(other), PlanDigest(plan_));
}

}  // namespace
}  // namespace stepslack::train

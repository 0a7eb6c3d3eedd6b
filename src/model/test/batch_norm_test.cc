#include <gtest/gtest.h>

#include <barrier>
#include <cmath>
#include <mutex>
#include <thread>

#include "example_batches.h"

namespace stepslack::model {
namespace {

// Adds values up over threads that stand for ranks.
class ThreadSum {
 public:
  explicit ThreadSum(int ranks) : barrier_(ranks) {}
  void Add(std::span<double> values) {
    {
      const std::lock_guard lock(mutex_);
      total_.resize(values.size(), 0.0);
      for (size_t i = 0; i < values.size(); ++i) total_[i] += values[i];
    }
    barrier_.arrive_and_wait();
    std::copy(total_.begin(), total_.end(), values.begin());
    barrier_.arrive_and_wait();
    {
      const std::lock_guard lock(mutex_);
      total_.clear();
    }
    barrier_.arrive_and_wait();
  }

 private:
  std::mutex mutex_;
  std::barrier<> barrier_;
  std::vector<double> total_;
};

struct Outcome {
  double loss = 0;
  std::vector<float> gradients;
  std::vector<float> statistics;
};

Outcome Step(const NetworkOptions& options, const Batch& batch, double weight) {
  Network network = MakeNetwork(options);
  Outcome outcome;
  const auto loss = network.Forward(batch, weight);
  EXPECT_TRUE(loss.has_value()) << Describe(loss.error());
  outcome.loss = loss.value_or(0.0);
  EXPECT_TRUE(network.Backward().has_value());
  outcome.gradients = Copy(network.gradients());
  outcome.statistics = Copy(network.statistics());
  return outcome;
}

// One rank with all samples against ranks with `split` of them each.
void ExpectSplitEqualsWhole(const ExampleCase& example,
                            const std::vector<int64_t>& split) {
  NetworkOptions options = OptionsOf(example);
  int64_t samples = 0;
  for (int64_t count : split) samples += count;
  const ExampleData data(options, samples, 11);
  const double weight = 1.0 / static_cast<double>(samples);
  const Outcome whole = Step(options, data.batch(), weight);

  ThreadSum sum(static_cast<int>(split.size()));
  options.sum_over_ranks = [&](std::span<double> values) -> base::Status {
    sum.Add(values);
    return {};
  };
  std::vector<Outcome> ranks(split.size());
  {
    std::vector<std::jthread> threads;
    int64_t first = 0;
    for (size_t r = 0; r < split.size(); ++r) {
      const Batch batch = data.batch(first, split[r]);
      first += split[r];
      threads.emplace_back([&, r, batch] { ranks[r] = Step(options, batch, weight); });
    }
  }
  double loss = 0;
  std::vector<double> gradients(whole.gradients.size(), 0.0);
  for (const Outcome& rank : ranks) {
    loss += rank.loss;
    for (size_t i = 0; i < gradients.size(); ++i) {
      gradients[i] += static_cast<double>(rank.gradients[i]);
    }
    for (size_t i = 0; i < whole.statistics.size(); ++i) {
      ASSERT_NEAR(rank.statistics[i], whole.statistics[i], 1e-6) << i;
    }
  }
  EXPECT_NEAR(loss, whole.loss, 1e-6 * whole.loss);
  const double scale = LargestMagnitude(whole.gradients);
  for (size_t i = 0; i < gradients.size(); ++i) {
    // Parameter gradients are float32 sums in another order; the norm adds no error.
    ASSERT_NEAR(gradients[i], static_cast<double>(whole.gradients[i]), 2e-6 * scale)
        << i;
  }
}

TEST(SyncBatchNorm, UnequalShardsOfAMapBatchEqualTheWhole) {
  ExpectSplitEqualsWhole({"unet", "plain", "sync_batch", "mse"}, {3, 1});
}

TEST(SyncBatchNorm, OneSampleEachAndNoneEqualTheWhole) {
  ExpectSplitEqualsWhole({"mlp", "plain", "sync_batch", "mse"}, {1, 0, 1});
  ExpectSplitEqualsWhole({"fcn", "plain", "sync_batch", "mae"}, {0, 2});
  ExpectSplitEqualsWhole({"unet", "plain", "sync_batch", "mse"}, {2, 0});
  ExpectSplitEqualsWhole({"unet", "shuffle", "sync_batch", "mse"}, {2, 0});
}

TEST(SyncBatchNorm, AFailedSumComesBackAsItsOwnError) {
  NetworkOptions options = OptionsOf({"mlp", "plain", "sync_batch"});
  int calls_left = 4;  // 3 norms forward, then the first of the backward pass
  options.sum_over_ranks = [&](std::span<double>) -> base::Status {
    if (calls_left-- > 1) return {};
    return base::Fail("TEST-0001", base::ExitCode::kEnvironment, "rank 1 is gone", "",
                      "");
  };
  Network network = MakeNetwork(options);
  const ExampleData data(options, 3, 1);
  ASSERT_TRUE(network.Forward(data.batch(), 1.0).has_value());
  const auto backward = network.Backward();
  ASSERT_FALSE(backward.has_value());
  EXPECT_EQ(backward.error().id, "TEST-0001");
  EXPECT_EQ(backward.error().what, "rank 1 is gone");
}

// One linear layer of weight 1 in front of the norm shows the norm's own numbers.
Network OneNorm() {
  NetworkOptions options = OptionsOf({"mlp", "plain", "batch"});
  options.input_planes = 1;
  options.hidden = {1};
  Network network = MakeNetwork(options);
  for (const auto& [name, value] :
       {std::pair{"layer.0.weights", 1.0F}, {"head.weights", 1.0F}}) {
    for (const ParameterInfo& info : network.parameters()) {
      if (info.name == name) network.values()[static_cast<size_t>(info.offset)] = value;
    }
  }
  return network;
}

TEST(BatchNorm, RunningStatisticsMoveByATenthToTheUnbiasedMoments) {
  Network network = OneNorm();
  ASSERT_EQ(network.statistics_layout().size(), 2U);
  EXPECT_EQ(network.statistics_layout()[0].name, "layer.0.mean");
  EXPECT_EQ(network.statistics_layout()[1].name, "layer.0.variance");
  EXPECT_EQ(network.statistics()[0], 0.0F);
  EXPECT_EQ(network.statistics()[16], 1.0F);
  const std::vector<float> inputs = {1, 2, 6}, targets = {0, 0, 0};
  ASSERT_TRUE(
      network.Forward({3, 1, 1, inputs.data(), targets.data()}, 1.0).has_value());
  // Mean 3, squares 4 + 1 + 9 = 14, over n - 1 = 2 is 7.
  EXPECT_FLOAT_EQ(network.statistics()[0], 0.3F);
  EXPECT_FLOAT_EQ(network.statistics()[16], 0.9F + 0.7F);
}

TEST(BatchNorm, EvaluationUsesTheRunningStatisticsAndLeavesThem) {
  Network network = OneNorm();
  network.statistics()[0] = 2.0F;
  network.statistics()[16] = 4.0F;
  const std::vector<float> inputs = {6, 1};
  std::vector<float> predictions(2);
  ASSERT_TRUE(
      network.Predict({2, 1, 1, inputs.data(), nullptr}, predictions).has_value());
  EXPECT_NEAR(predictions[0], (6 - 2) / 2.0, 1e-5);
  EXPECT_EQ(predictions[1], 0.0F);  // below the mean: ReLU
  EXPECT_EQ(network.statistics()[0], 2.0F);
  EXPECT_EQ(network.statistics()[16], 4.0F);
}

TEST(BatchNorm, TrainingNormalisesByTheBatch) {
  Network network = OneNorm();
  const std::vector<float> inputs = {1, 2, 6}, targets = {0, 0, 0};
  // Deviations -2, -1, 3 over sqrt(14 / 3); only the last passes ReLU. Mean |y| of 3
  // samples, summed with weight 1: the value itself.
  const auto loss = network.Forward({3, 1, 1, inputs.data(), targets.data()}, 1.0);
  EXPECT_NEAR(loss.value(), 3.0 / std::sqrt(14.0 / 3 + 1e-5), 1e-6);
}

TEST(BatchNorm, OtherNormsHaveNoStatistics) {
  EXPECT_TRUE(MakeNetwork(OptionsOf({"unet", "plain", "group"})).statistics().empty());
}

}  // namespace
}  // namespace stepslack::model

#include "reducer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstdio>
#include <functional>
#include <string>
#include <thread>

#include "sampler.h"
#include "stepslack/base/random.h"
#include "stepslack/comm/rank_environment.h"
#include "stepslack/model/network.h"

namespace stepslack::train {
namespace {

std::vector<model::ParameterInfo> FourVectors() {
  model::ParameterLayout layout;
  for (const char* name : {"a", "b", "c", "d"}) layout.AddVector(name, 16, 0.0);
  return layout.parameters();  // 64 bytes each, 64 floats in all
}

TEST(PlanBuckets, CoverTheBufferFromItsEndInReverseOrder) {
  // Tail of 2 floats: the first bucket is d and the tail (72 bytes).
  const auto buckets = PlanBuckets(FourVectors(), 66, 72, 128);
  ASSERT_EQ(buckets.size(), 3U);
  EXPECT_EQ(buckets[0].begin, 48);
  EXPECT_EQ(buckets[0].end, 66);
  EXPECT_EQ(buckets[0].parameters, (std::vector<size_t>{3}));
  EXPECT_EQ(buckets[1].begin, 16);
  EXPECT_EQ(buckets[1].end, 48);
  EXPECT_EQ(buckets[1].parameters, (std::vector<size_t>{2, 1}));
  EXPECT_EQ(buckets[2].begin, 0);
  EXPECT_EQ(buckets[2].end, 16);
}

TEST(PlanBuckets, AParameterIsNeverCutAndNoBucketIsEmpty) {
  for (int64_t limit : {int64_t{0}, int64_t{1}, int64_t{63}}) {
    const auto buckets = PlanBuckets(FourVectors(), 65, limit, limit);
    ASSERT_EQ(buckets.size(), 4U);
    for (const Bucket& bucket : buckets) EXPECT_EQ(bucket.parameters.size(), 1U);
  }
  EXPECT_EQ(PlanBuckets(FourVectors(), 65, 1 << 20, 1 << 20).size(), 1U);
}

constexpr int64_t kSide = 8;
constexpr int64_t kBatch = 5;
constexpr int64_t kPlanes = 2;

struct Samples {
  Samples() {
    base::Random random(11);
    for (int64_t i = 0; i < kBatch * kPlanes * kSide * kSide; ++i) {
      inputs.push_back(static_cast<float>(random.Normal()));
    }
    for (int64_t i = 0; i < kBatch * kSide * kSide; ++i) {
      targets.push_back(static_cast<float>(random.Uniform()));
    }
  }
  std::vector<float> inputs, targets;
};

// One gradient of the whole batch on `world_size` ranks (threads); every rank's result.
std::vector<std::vector<float>> Gradients(int world_size,
                                          const ReducerOptions& options) {
  static std::atomic<int> counter{0};
  const std::string store = testing::TempDir() + "reducer_store_" +
                            std::to_string(::getpid()) + "_" +
                            std::to_string(counter++);
  const Samples samples;
  const std::vector<int64_t> order = {3, 0, 4, 1, 2};
  std::vector<std::vector<float>> results(static_cast<size_t>(world_size));
  const auto body = [&](int rank) {
    auto communicator = comm::Connect({rank, world_size, store, "lo"}, 20);
    ASSERT_TRUE(communicator.has_value());
    auto network = model::Network::Create({kPlanes, 4, 3, 1, world_size});
    ASSERT_TRUE(network.has_value());
    Reducer reducer(options, network->parameters(), network->gradients(),
                    **communicator);
    network->OnGradientReady([&](size_t parameter) { reducer.Ready(parameter); });
    reducer.Begin();
    std::vector<float> inputs, targets;
    const auto share = RankShare(order, rank, world_size);
    const int64_t pixels = kSide * kSide;
    for (int64_t index : share) {
      const auto first = samples.inputs.begin() + index * kPlanes * pixels;
      inputs.insert(inputs.end(), first, first + kPlanes * pixels);
      const auto target = samples.targets.begin() + index * pixels;
      targets.insert(targets.end(), target, target + pixels);
    }
    if (!share.empty()) {
      const auto count = static_cast<int64_t>(share.size());
      const auto loss = network->Forward(
          {count, kSide, kSide, inputs.data(), targets.data()}, 1.0 / kBatch);
      ASSERT_TRUE(loss.has_value());
      network->gradients()[network->values().size() + static_cast<size_t>(rank)] =
          static_cast<float>(*loss);
      ASSERT_TRUE(network->Backward().has_value());
    }
    ASSERT_TRUE(reducer.Finish().has_value());
    const auto gradients = network->gradients();
    results[static_cast<size_t>(rank)].assign(gradients.begin(), gradients.end());
    ASSERT_TRUE((*communicator)->Barrier().has_value());
  };
  std::vector<std::thread> threads;
  for (int rank = 0; rank < world_size; ++rank) threads.emplace_back(body, rank);
  for (std::thread& thread : threads) thread.join();
  std::remove(store.c_str());
  std::remove((store + ".board").c_str());
  return results;
}

void ExpectSameGradient(const std::vector<float>& one, const std::vector<float>& many,
                        size_t count) {
  double scale = 0;
  for (float value : one)
    scale = std::max(scale, std::fabs(static_cast<double>(value)));
  for (size_t i = 0; i < count; ++i) ASSERT_NEAR(one[i], many[i], 2e-6 * scale) << i;
}

TEST(Reducer, RanksWithUnevenPartsGetTheGradientOfOneRankWithAll) {
  const auto one = Gradients(1, {});
  const size_t parameters = one[0].size() - 1;
  for (bool overlap : {true, false}) {
    for (int ranks : {2, 3}) {
      const auto many = Gradients(ranks, {1 << 10, 4 << 10, overlap, true});
      for (const auto& result : many) {
        ExpectSameGradient(one[0], result, parameters);
        EXPECT_EQ(result, many[0]);  // bit-equal between ranks
        // The loss of the global batch is the sum of the slots behind the gradients.
        float loss = 0;
        for (size_t i = parameters; i < result.size(); ++i) loss += result[i];
        EXPECT_NEAR(loss, one[0].back(), 1e-6);
      }
    }
  }
}

TEST(Reducer, ARankWithoutSamplesTakesPart) {
  const auto one = Gradients(1, {});
  const auto many = Gradients(6, {1 << 10, 4 << 10, true, true});  // 5 samples
  for (const auto& result : many) {
    ExpectSameGradient(one[0], result, one[0].size() - 1);
  }
}

TEST(Reducer, WithoutExchangeEveryRankKeepsItsOwn) {
  const auto apart = Gradients(2, {1 << 10, 4 << 10, true, false});
  EXPECT_NE(apart[0], apart[1]);
}

}  // namespace
}  // namespace stepslack::train

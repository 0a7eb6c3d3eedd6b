#include "sampler.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

namespace stepslack::train {
namespace {

std::vector<int64_t> Indices(int64_t count) {
  std::vector<int64_t> indices(static_cast<size_t>(count));
  std::iota(indices.begin(), indices.end(), 100);
  return indices;
}

// All global batches from the first sample to the last.
std::vector<GlobalBatch> AllBatches(Sampler& sampler) {
  std::vector<GlobalBatch> batches;
  int64_t done = 0;
  while (true) {
    GlobalBatch batch = sampler.BatchAfter(done);
    if (batch.indices.empty()) return batches;
    done += static_cast<int64_t>(batch.indices.size());
    batches.push_back(std::move(batch));
  }
}

RC_GTEST_PROP(Sampler, EachSampleComesExactlyOnceAnEpochForAnyWorldSize, ()) {
  const auto count = *rc::gen::inRange<int64_t>(1, 40);
  const auto global_batch = *rc::gen::inRange<int64_t>(1, 20);
  const int world_size = *rc::gen::inRange(1, 9);
  const auto epochs = *rc::gen::inRange<int64_t>(1, 4);
  Sampler sampler(Indices(count), global_batch, count * epochs, 7);
  std::vector<std::multiset<int64_t>> seen(static_cast<size_t>(epochs));
  for (const GlobalBatch& batch : AllBatches(sampler)) {
    RC_ASSERT(static_cast<int64_t>(batch.indices.size()) <= global_batch);
    for (int rank = 0; rank < world_size; ++rank) {
      const auto share = RankShare(batch.indices, rank, world_size);
      seen[static_cast<size_t>(batch.epoch)].insert(share.begin(), share.end());
    }
  }
  const std::vector<int64_t> all = Indices(count);
  const std::multiset<int64_t> once(all.begin(), all.end());
  for (const auto& epoch : seen) RC_ASSERT(epoch == once);
}

TEST(Sampler, PermutationDiffersByEpochAndBySeedAndIsRepeatable) {
  Sampler sampler(Indices(50), 50, 150, 1);
  const auto first = sampler.BatchAfter(0).indices;
  const auto second = sampler.BatchAfter(50).indices;
  EXPECT_NE(first, second);
  EXPECT_NE(first, Indices(50));
  EXPECT_EQ(sampler.BatchAfter(0).indices, first);  // after an other epoch was drawn
  Sampler other(Indices(50), 50, 150, 2);
  EXPECT_NE(other.BatchAfter(0).indices, first);
}

TEST(Sampler, OrderOfTheListInThePlanDoesNotMatter) {
  std::vector<int64_t> reversed = Indices(20);
  std::reverse(reversed.begin(), reversed.end());
  Sampler plain(Indices(20), 8, 20, 3);
  Sampler backward(reversed, 8, 20, 3);
  EXPECT_EQ(plain.BatchAfter(8).indices, backward.BatchAfter(8).indices);
}

TEST(Sampler, LastBatchOfAnEpochIsShortAndTheTotalIsExact) {
  Sampler sampler(Indices(10), 4, 17, 1);
  std::vector<size_t> sizes;
  std::vector<int64_t> epochs;
  for (const GlobalBatch& batch : AllBatches(sampler)) {
    sizes.push_back(batch.indices.size());
    epochs.push_back(batch.epoch);
  }
  EXPECT_EQ(sizes, (std::vector<size_t>{4, 4, 2, 4, 3}));
  EXPECT_EQ(epochs, (std::vector<int64_t>{0, 0, 0, 1, 1}));
}

TEST(Sampler, SharesAreInterleavedAndMayBeEmpty) {
  const std::vector<int64_t> batch = {9, 8, 7, 6, 5};
  EXPECT_EQ(RankShare(batch, 0, 2), (std::vector<int64_t>{9, 7, 5}));
  EXPECT_EQ(RankShare(batch, 1, 2), (std::vector<int64_t>{8, 6}));
  EXPECT_TRUE(RankShare(batch, 5, 7).empty());
}

TEST(Sampler, TransformsDependOnSeedEpochAndSampleAndUseAllEight) {
  const Sampler sampler(Indices(4), 4, 4, 5);
  std::set<int> seen;
  int changed = 0;
  for (int64_t index = 0; index < 100; ++index) {
    const int transform = sampler.Transform(0, index, 8);
    EXPECT_EQ(transform, sampler.Transform(0, index, 8));
    seen.insert(transform);
    changed += transform != sampler.Transform(1, index, 8) ? 1 : 0;
    EXPECT_LT(sampler.Transform(0, index, 4), 4);
  }
  EXPECT_EQ(seen.size(), 8U);
  // Seven of eight differ on average: 87.5 of 100, standard deviation 3.3.
  EXPECT_NEAR(changed, 87.5, 15);
}

}  // namespace
}  // namespace stepslack::train

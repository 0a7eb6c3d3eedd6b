#include "near_duplicates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "dihedral.h"
#include "sample_maps.h"

namespace stepslack::data {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

TEST(NearDuplicates, DescriptorIsTheAreaMeanOverTheMeanMagnitude) {
  // 12 pixels to 8 cells: a cell is 1.5 pixels. One row, so all descriptor rows are
  // equal.
  std::vector<float> plane(12);
  for (size_t i = 0; i < 12; ++i) plane[i] = static_cast<float>(i);  // mean 5.5
  const Descriptor d = DescriptorOf(plane, 1, 12);
  EXPECT_FLOAT_EQ(d[0], static_cast<float>((0 + 0.5 * 1) / 1.5 / 5.5));
  EXPECT_FLOAT_EQ(d[1], static_cast<float>((0.5 * 1 + 2) / 1.5 / 5.5));
  EXPECT_FLOAT_EQ(d[7], static_cast<float>((0.5 * 10 + 11) / 1.5 / 5.5));
  EXPECT_FLOAT_EQ(d[8], d[0]);
  EXPECT_FLOAT_EQ(d[63], d[7]);
}

TEST(NearDuplicates, DescriptorOfAnAllZeroPlaneIsZero) {
  const Descriptor d = DescriptorOf(std::vector<float>(4, 0.0f), 2, 2);
  for (const float v : d) EXPECT_EQ(v, 0.0f);
}

MapCollection WithCopy(WholeMap copy) {
  MapCollection collection = GroupedCollection(6, 1);
  copy.id = "copy";
  copy.group = "other";
  collection.maps.push_back(std::move(copy));
  return collection;
}

TEST(NearDuplicates, DifferentMapsAreFar) {
  const NearDuplicates near = FindNearDuplicates(GroupedCollection(12, 2), 0.03, 1);
  EXPECT_EQ(near.pairs_considered, 24 * 23 / 2);
  EXPECT_THAT(near.pairs, IsEmpty());
}

TEST(NearDuplicates, FindsAScaledCopyAtDistanceZero) {
  WholeMap copy = GroupedCollection(6, 1).maps[2];
  for (float& v : copy.channels[0]) v *= 4;  // a power of two keeps all bits
  for (float& v : copy.target) v *= 4;
  const NearDuplicates near = FindNearDuplicates(WithCopy(copy), 0.03, 1);
  ASSERT_THAT(near.pairs, SizeIs(1));
  EXPECT_EQ(near.pairs[0].a, 2);
  EXPECT_EQ(near.pairs[0].b, 6);
  EXPECT_EQ(near.pairs[0].distance, 0.0);
}

TEST(NearDuplicates, FindsATurnedNoisyCopyWhateverTheThreads) {
  const WholeMap original = GroupedCollection(6, 1).maps[4];
  for (int t = 0; t < kTransforms; ++t) {
    WholeMap copy = original;
    base::Random random(99);
    for (auto* plane : {&copy.channels[0], &copy.channels[2], &copy.target}) {
      *plane = Transformed(*plane, 16, 16, t);
      for (float& v : *plane) v *= static_cast<float>(random.Uniform(0.99, 1.01));
    }
    const NearDuplicates one = FindNearDuplicates(WithCopy(copy), 0.03, 1);
    const NearDuplicates many = FindNearDuplicates(WithCopy(copy), 0.03, 3);
    ASSERT_THAT(one.pairs, SizeIs(1)) << t;
    EXPECT_EQ(one.pairs[0].a, 4);
    EXPECT_GT(one.pairs[0].distance, 0.0);
    EXPECT_LT(one.pairs[0].distance, 0.01);
    ASSERT_THAT(many.pairs, SizeIs(1));
    EXPECT_EQ(many.pairs[0].distance, one.pairs[0].distance);
    EXPECT_EQ(many.pairs_compared, one.pairs_compared);
  }
}

TEST(NearDuplicates, OnePlaneThatDiffersIsEnoughToBeFar) {
  WholeMap copy = GroupedCollection(6, 1).maps[4];
  copy.target = RandomMap("x", "x", 777).target;
  // The targets lie in [2, 3): averaged over 2x2 pixels they differ by some percent.
  const NearDuplicates near = FindNearDuplicates(WithCopy(copy), 0.03, 1);
  EXPECT_THAT(near.pairs, IsEmpty());
}

TEST(NearDuplicates, TheLowerBoundLosesNoPair) {
  // With the largest useful threshold every pair is compared; those below a smaller
  // threshold must be found with that threshold too.
  MapCollection collection = GroupedCollection(10, 1);
  for (size_t i = 0; i < 10; ++i) {
    WholeMap copy = collection.maps[i];
    copy.id += "/copy";
    base::Random random(i);
    const double noise = 0.05 * static_cast<double>(i);
    for (auto* plane : {&copy.channels[0], &copy.channels[2], &copy.target}) {
      for (float& v : *plane)
        v *= static_cast<float>(random.Uniform(1 - noise, 1 + noise));
    }
    collection.maps.push_back(std::move(copy));
  }
  const NearDuplicates all = FindNearDuplicates(collection, 10.0, 1);
  EXPECT_EQ(all.pairs_compared, all.pairs_considered);
  for (const double threshold : {0.01, 0.03, 0.1, 0.2}) {
    std::vector<double> expected;
    for (const NearPair& pair : all.pairs) {
      if (pair.distance < static_cast<double>(static_cast<float>(threshold))) {
        expected.push_back(pair.distance);
      }
    }
    std::vector<double> found;
    for (const NearPair& pair : FindNearDuplicates(collection, threshold, 1).pairs) {
      found.push_back(pair.distance);
    }
    EXPECT_EQ(found, expected) << threshold;
    EXPECT_FALSE(found.empty()) << threshold;
  }
}

TEST(NearDuplicates, ANanIsNeverClose) {
  WholeMap copy = GroupedCollection(6, 1).maps[4];
  copy.target[0] = std::nanf("");
  EXPECT_THAT(FindNearDuplicates(WithCopy(copy), 0.03, 1).pairs, IsEmpty());
}

}  // namespace
}  // namespace stepslack::data

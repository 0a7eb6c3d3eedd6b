#include "bucket_layout.h"

#include <gtest/gtest.h>

namespace stepslack::train {
namespace {

std::vector<model::ParameterInfo> Vectors(int count) {
  model::ParameterLayout layout;
  for (int i = 0; i < count; ++i) layout.AddVector("v" + std::to_string(i), 16, 0.0);
  return layout.parameters();  // 64 bytes each
}

TEST(PlanBuckets, CoverTheBufferFromItsEndInReverseOrder) {
  // Tail of 2 floats: the first bucket is the last vector and the tail (72 bytes).
  const auto buckets = PlanBuckets(Vectors(4), 66, {72, 128, 64});
  ASSERT_EQ(buckets.size(), 3U);
  EXPECT_EQ(buckets[0].begin, 48);
  EXPECT_EQ(buckets[0].end, 66);
  EXPECT_EQ(buckets[0].parameters, (std::vector<size_t>{3}));
  EXPECT_EQ(buckets[1].begin, 16);
  EXPECT_EQ(buckets[1].end, 48);
  EXPECT_EQ(buckets[1].parameters, (std::vector<size_t>{2, 1}));
  EXPECT_EQ(buckets[2].begin, 0);
  EXPECT_EQ(buckets[2].end, 16);
  EXPECT_EQ(buckets[2].parameters, (std::vector<size_t>{0}));
}

TEST(PlanBuckets, TheLastBucketIsSmallBecauseNothingHidesIt) {
  // Eight vectors: the first bucket takes one, the last two, the middle ones three.
  const auto buckets = PlanBuckets(Vectors(8), 128, {64, 192, 128});
  ASSERT_EQ(buckets.size(), 4U);
  EXPECT_EQ(buckets[0].parameters, (std::vector<size_t>{7}));
  EXPECT_EQ(buckets[1].parameters, (std::vector<size_t>{6, 5, 4}));
  EXPECT_EQ(buckets[2].parameters, (std::vector<size_t>{3, 2}));
  EXPECT_EQ(buckets[3].parameters, (std::vector<size_t>{1, 0}));
  EXPECT_EQ(buckets[3].end, 32);
}

TEST(PlanBuckets, AParameterIsNeverCutAndNoBucketIsEmpty) {
  for (int64_t limit : {int64_t{0}, int64_t{1}, int64_t{63}}) {
    const auto buckets = PlanBuckets(Vectors(4), 65, {limit, limit, limit});
    ASSERT_EQ(buckets.size(), 4U);
    for (const Bucket& bucket : buckets) EXPECT_EQ(bucket.parameters.size(), 1U);
  }
}

TEST(PlanBuckets, AnyLimitsCoverEveryFloatOnce) {
  for (int64_t first : {0, 100, 1000}) {
    for (int64_t middle : {0, 200, 1000}) {
      for (int64_t last : {0, 128, 1000}) {
        const auto buckets = PlanBuckets(Vectors(7), 115, {first, middle, last});
        int64_t end = 115;
        size_t next = 7;
        for (const Bucket& bucket : buckets) {
          EXPECT_EQ(bucket.end, end);
          EXPECT_LT(bucket.begin, bucket.end);
          for (size_t parameter : bucket.parameters) EXPECT_EQ(parameter, --next);
          end = bucket.begin;
        }
        EXPECT_EQ(end, 0);
        EXPECT_EQ(next, 0U);
      }
    }
  }
}

TEST(PlanBuckets, LargeLimitsGiveOneBucket) {
  const int64_t limit = 1 << 20;
  EXPECT_EQ(PlanBuckets(Vectors(4), 65, {limit, limit, limit}).size(), 1U);
  EXPECT_TRUE(PlanBuckets({}, 0, {}).empty());
}

}  // namespace
}  // namespace stepslack::train

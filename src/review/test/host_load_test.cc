#include "host_load.h"

#include <gtest/gtest.h>

namespace stepslack::review {
namespace {

TEST(HostLoadTest, ReadsStealAndLeavesGuestTimesOut) {
  const CpuTimes times = ParseCpuTimes("cpu  100 1 50 800 9 2 3 35 70 7\ncpu0 1 1 1\n");
  EXPECT_EQ(times.total, 1000);
  EXPECT_EQ(times.steal, 35);
}

TEST(HostLoadTest, ShareIsOfTheTimeBetween) {
  const auto share =
      StealShare({.total = 1000, .steal = 10}, {.total = 3000, .steal = 110});
  ASSERT_TRUE(share.has_value());
  EXPECT_DOUBLE_EQ(*share->value, 0.05);
}

TEST(HostLoadTest, TooShortAStretchSaysNothing) {
  EXPECT_FALSE(StealShare({.total = 0, .steal = 0}, {.total = 999, .steal = 500}));
  EXPECT_EQ(ParseCpuTimes("intr 1 2").total, 0);
}

}  // namespace
}  // namespace stepslack::review

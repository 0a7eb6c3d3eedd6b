#include "stepslack/record/rank_environment.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace stepslack::record {
namespace {

class RankEnvironmentTest : public testing::Test {
 protected:
  void SetUp() override { Clear(); }
  void TearDown() override { Clear(); }
  static void Clear() {
    for (const char* name : {"STEPSLACK_RANK", "STEPSLACK_WORLD_SIZE",
                             "STEPSLACK_STORE", "STEPSLACK_INTERFACE"}) {
      ::unsetenv(name);
    }
  }
  static void Set(const char* name, const char* value) { ::setenv(name, value, 1); }
};

TEST_F(RankEnvironmentTest, NothingSetMeansOneRank) {
  const auto environment = ReadRankEnvironment();
  ASSERT_TRUE(environment.has_value());
  EXPECT_EQ(environment->rank, 0);
  EXPECT_EQ(environment->world_size, 1);
}

TEST_F(RankEnvironmentTest, ReadsWhatTheLauncherSets) {
  Set("STEPSLACK_RANK", "3");
  Set("STEPSLACK_WORLD_SIZE", "4");
  Set("STEPSLACK_STORE", "/tmp/store");
  const auto environment = ReadRankEnvironment();
  ASSERT_TRUE(environment.has_value());
  EXPECT_EQ(environment->rank, 3);
  EXPECT_EQ(environment->world_size, 4);
  EXPECT_EQ(environment->store_path, "/tmp/store");
  EXPECT_EQ(environment->interface, "lo");
}

TEST_F(RankEnvironmentTest, RefusesNonsense) {
  const std::pair<const char*, const char*> cases[] = {
      {"0", "0"}, {"2", "2"}, {"-1", "2"}, {"x", "2"}, {"0", "two"}, {"0", "99999"}};
  for (const auto& [rank, world_size] : cases) {
    Set("STEPSLACK_STORE", "/tmp/store");
    Set("STEPSLACK_RANK", rank);
    Set("STEPSLACK_WORLD_SIZE", world_size);
    const auto environment = ReadRankEnvironment();
    ASSERT_FALSE(environment.has_value()) << rank << " of " << world_size;
    EXPECT_EQ(environment.error().id, "COMM-0001");
  }
  Clear();
  Set("STEPSLACK_WORLD_SIZE", "2");
  EXPECT_FALSE(ReadRankEnvironment().has_value());  // no store
}

}  // namespace
}  // namespace stepslack::record

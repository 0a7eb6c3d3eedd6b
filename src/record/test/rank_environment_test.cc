#include "stepslack/record/rank_environment.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace stepslack::record {
namespace {

class RankEnvironmentTest : public testing::Test {
 protected:
  void SetUp() override { Clear(); }
  void TearDown() override { Clear(); }
  static void Clear() {
    for (const char* name : {"STEPSLACK_JOB",
                             "STEPSLACK_RANK",
                             "STEPSLACK_WORLD_SIZE",
                             "STEPSLACK_LOCAL_RANK",
                             "STEPSLACK_LOCAL_SIZE",
                             "STEPSLACK_STORE",
                             "STEPSLACK_INTERFACE",
                             "GLOO_SOCKET_IFNAME",
                             "RANK",
                             "WORLD_SIZE",
                             "LOCAL_RANK",
                             "LOCAL_WORLD_SIZE",
                             "MASTER_ADDR",
                             "MASTER_PORT",
                             "TORCHELASTIC_USE_AGENT_STORE",
                             "OMPI_COMM_WORLD_RANK",
                             "OMPI_COMM_WORLD_SIZE",
                             "OMPI_COMM_WORLD_LOCAL_RANK",
                             "OMPI_COMM_WORLD_LOCAL_SIZE",
                             "PMIX_RANK",
                             "SLURM_PROCID",
                             "SLURM_NTASKS",
                             "SLURM_LOCALID",
                             "SLURM_JOB_NUM_NODES",
                             "SLURM_JOB_NODELIST",
                             "SLURM_JOB_ID",
                             "SLURM_STEP_ID",
                             "SLURM_RESTART_COUNT",
                             "SLURM_STEP_NODELIST",
                             "SLURM_STEP_NUM_NODES"}) {
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

// A machine that plays two nodes starts each node's tasks from a process of its own:
// the name that the ranks meet under must not come from there.
TEST_F(RankEnvironmentTest, RanksOfASlurmStepMeetUnderTheStepsNumber) {
  for (const auto& [name, value] :
       std::vector<std::pair<const char*, const char*>>{{"SLURM_PROCID", "1"},
                                                        {"SLURM_NTASKS", "2"},
                                                        {"SLURM_LOCALID", "0"},
                                                        {"SLURM_JOB_ID", "8"},
                                                        {"SLURM_STEP_ID", "3"},
                                                        {"MASTER_ADDR", "127.0.0.1"},
                                                        {"MASTER_PORT", "29500"}}) {
    Set(name, value);
  }
  const auto environment = ReadRankEnvironment();
  ASSERT_TRUE(environment.has_value());
  EXPECT_NE(environment->job.find("-slurm-8-3-0"), std::string::npos)
      << environment->job;
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

using Variables = std::vector<std::pair<const char*, const char*>>;

TEST_F(RankEnvironmentTest, EveryLauncherSaysWhichRankThisIs) {
  struct Case {
    Variables variables;
    const char* launcher;
    int local_size;
    const char* store;
  };
  const Case cases[] = {
      {{{"STEPSLACK_RANK", "1"},
        {"STEPSLACK_WORLD_SIZE", "4"},
        {"STEPSLACK_STORE", "tcp://n1:4000"}},
       "stepslack",
       0,
       "n1:4000"},
      {{{"RANK", "1"},
        {"WORLD_SIZE", "4"},
        {"LOCAL_RANK", "1"},
        {"LOCAL_WORLD_SIZE", "2"},
        {"MASTER_ADDR", "10.0.0.1"},
        {"MASTER_PORT", "29500"}},
       "torchrun",
       2,
       "10.0.0.1:29500"},
      {{{"OMPI_COMM_WORLD_RANK", "1"},
        {"OMPI_COMM_WORLD_SIZE", "4"},
        {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
        {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}},
       "mpirun",
       2,
       ":0"},
      {{{"PMIX_RANK", "1"},
        {"SLURM_NTASKS", "4"},
        {"SLURM_PROCID", "1"},
        {"SLURM_JOB_NODELIST", "gpu[003-010,12]"},
        {"SLURM_JOB_NUM_NODES", "2"}},
       "pmix",
       0,
       "gpu003:20000"},
      {{{"SLURM_PROCID", "1"},
        {"SLURM_NTASKS", "4"},
        {"SLURM_LOCALID", "1"},
        {"SLURM_JOB_ID", "7"},
        {"SLURM_STEP_ID", "2"},
        {"SLURM_JOB_NODELIST", "n7"},
        {"SLURM_JOB_NUM_NODES", "1"}},
       "slurm",
       4,
       "n7:20709"},
  };
  for (const Case& one : cases) {
    Clear();
    for (const auto& [name, value] : one.variables) Set(name, value);
    const auto environment = ReadRankEnvironment();
    ASSERT_TRUE(environment.has_value()) << Describe(environment.error());
    EXPECT_EQ(environment->rank, 1) << one.launcher;
    EXPECT_EQ(environment->world_size, 4) << one.launcher;
    EXPECT_EQ(environment->launcher, one.launcher);
    EXPECT_EQ(environment->local_size, one.local_size) << one.launcher;
    EXPECT_EQ(
        environment->master_address + ":" + std::to_string(environment->master_port),
        one.store);
  }
}

TEST_F(RankEnvironmentTest, RanksOfOneMpirunMeetInAFile) {
  Set("OMPI_COMM_WORLD_RANK", "0");
  Set("OMPI_COMM_WORLD_SIZE", "2");
  Set("OMPI_COMM_WORLD_LOCAL_RANK", "0");
  Set("OMPI_COMM_WORLD_LOCAL_SIZE", "2");
  const auto environment = ReadRankEnvironment();
  ASSERT_TRUE(environment.has_value());
  EXPECT_TRUE(environment->OneHost());
  EXPECT_NE(environment->store_path.find("stepslack-"), std::string::npos);
  EXPECT_EQ(environment->interface, "lo");
}

TEST_F(RankEnvironmentTest, TheInnerLauncherCounts) {
  // torchrun on each of two nodes that srun has started.
  for (const auto& [name, value] : Variables{{"RANK", "3"},
                                             {"WORLD_SIZE", "4"},
                                             {"LOCAL_RANK", "1"},
                                             {"LOCAL_WORLD_SIZE", "2"},
                                             {"MASTER_ADDR", "n1"},
                                             {"MASTER_PORT", "29500"},
                                             {"SLURM_PROCID", "1"},
                                             {"SLURM_NTASKS", "2"}}) {
    Set(name, value);
  }
  const auto environment = ReadRankEnvironment();
  ASSERT_TRUE(environment.has_value()) << Describe(environment.error());
  EXPECT_EQ(environment->rank, 3);
  EXPECT_FALSE(environment->OneHost());
}

TEST_F(RankEnvironmentTest, NamesHalfAndContradictingVariables) {
  const std::pair<Variables, const char*> cases[] = {
      {{{"STEPSLACK_RANK", "0"}}, "COMM-0043"},
      {{{"RANK", "0"}}, "COMM-0043"},
      {{{"WORLD_SIZE", "2"}}, "COMM-0043"},
      {{{"RANK", "0"}, {"WORLD_SIZE", "2"}}, "COMM-0043"},  // no MASTER_ADDR
      {{{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "n1"}}, "COMM-0043"},
      {{{"RANK", "0"},
        {"WORLD_SIZE", "2"},
        {"MASTER_ADDR", "n1"},
        {"MASTER_PORT", "99999"}},
       "COMM-0001"},
      {{{"SLURM_PROCID", "0"}}, "COMM-0043"},
      {{{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "2"}, {"SLURM_JOB_NODELIST", "n[x-2]"}},
       "COMM-0001"},
      {{{"STEPSLACK_RANK", "0"},
        {"STEPSLACK_WORLD_SIZE", "2"},
        {"STEPSLACK_STORE", "tcp://n1"}},
       "COMM-0001"},
      // Exported once in a shell: every process of the mpirun would be rank 0.
      {{{"RANK", "0"},
        {"WORLD_SIZE", "2"},
        {"MASTER_ADDR", "n1"},
        {"MASTER_PORT", "1"},
        {"OMPI_COMM_WORLD_RANK", "1"},
        {"OMPI_COMM_WORLD_SIZE", "2"}},
       "COMM-0044"},
      {{{"RANK", "0"},
        {"WORLD_SIZE", "1"},
        {"SLURM_PROCID", "1"},
        {"SLURM_NTASKS", "2"}},
       "COMM-0044"},
  };
  for (const auto& [variables, id] : cases) {
    Clear();
    for (const auto& [name, value] : variables) Set(name, value);
    const auto environment = ReadRankEnvironment();
    ASSERT_FALSE(environment.has_value()) << variables[0].first;
    EXPECT_EQ(environment.error().id, id) << Describe(environment.error());
  }
}

TEST_F(RankEnvironmentTest, FindsTheFirstHostOfASlurmList) {
  EXPECT_EQ(FirstSlurmHost("n7"), "n7");
  EXPECT_EQ(FirstSlurmHost("n7,n8"), "n7");
  EXPECT_EQ(FirstSlurmHost("n1,gpu[2-3]"), "n1");
  EXPECT_EQ(FirstSlurmHost("gpu[003-010,12],cpu1"), "gpu003");
  EXPECT_EQ(FirstSlurmHost("n[5]"), "n5");
  EXPECT_EQ(FirstSlurmHost("n[1-2]-ib,x"), "n1-ib");
  EXPECT_EQ(FirstSlurmHost("n[1-2"), "");
  EXPECT_EQ(FirstSlurmHost("n[]"), "");
  EXPECT_EQ(FirstSlurmHost(""), "");
}

}  // namespace
}  // namespace stepslack::record

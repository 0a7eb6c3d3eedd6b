#include "stepslack/record/run_overview.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "stepslack/base/file.h"

namespace stepslack::record {
namespace {

constexpr int64_t kNow = 1'800'000'000'000;

class RunOverviewTest : public testing::Test {
 protected:
  RunOverviewTest()
      : folder_(testing::TempDir() + "overview_" + std::to_string(::getpid())) {
    EXPECT_TRUE(base::MakeFolders(folder_).has_value());
  }
  ~RunOverviewTest() override { std::filesystem::remove_all(folder_); }
  void Write(const std::string& name, const std::string& text) const {
    EXPECT_TRUE(base::WriteFileAtomic(base::JoinPath(folder_, name), text).has_value());
  }
  // Two ranks of three steps; rank 1 works 12 ms of 14 a step, rank 0 works 6.
  void WriteMetrics() const {
    for (int rank = 0; rank < 2; ++rank) {
      std::string text;
      for (int64_t i = 1; i <= 3; ++i) {
        StepRecord step;
        step.step = i;
        step.samples_total = 8 * i;
        step.step_ns = i == 1 ? 900'000'000 : 14'000'000;  // the first is left out
        step.data_ns = 1'000'000;
        step.forward_ns = 2'000'000;
        step.backward_ns = rank == 0 ? 2'000'000 : 8'000'000;
        step.comm_wait_ns = rank == 0 ? 8'000'000 : 2'000'000;
        step.optimizer_ns = 500'000;
        step.minor_faults = i == 1 ? 9'000 : 10 * i;
        step.run_queue_ns = rank == 0 ? 3'000'000 : -1;
        step.loss = 1.0 / static_cast<double>(i);
        text += ToJson(step).Dump(-1) + "\n";
      }
      Write(MetricsFileName(rank), text);
    }
  }
  RunOverview Read() const {
    auto overview = ReadRunOverview(folder_, kNow);
    EXPECT_TRUE(overview.has_value());
    return overview.value_or(RunOverview());
  }
  std::string folder_;
};

TEST_F(RunOverviewTest, AFolderWithoutARunIsRefused) {
  const auto overview = ReadRunOverview(folder_, kNow);
  ASSERT_FALSE(overview.has_value());
  EXPECT_EQ(overview.error().id, "REC-0022");
  EXPECT_EQ(overview.error().exit_code, base::ExitCode::kInput);
}

TEST_F(RunOverviewTest, MeansLeaveTheFirstStepOutAndTheRemainderIsNamed) {
  WriteMetrics();
  const RunOverview overview = Read();
  ASSERT_EQ(overview.ranks.size(), 2U);
  const RankMeans& first = overview.ranks[0];
  EXPECT_EQ(first.steps, 2);
  EXPECT_NEAR(first.step, 0.014, 1e-12);
  EXPECT_NEAR(first.comm_wait, 0.008, 1e-12);
  EXPECT_NEAR(first.other, 0.0005, 1e-12);  // 14 - 1 - 2 - 2 - 8 - 0.5 ms
  EXPECT_NEAR(first.minor_faults, 25, 1e-9);
  EXPECT_NEAR(first.run_queue, 0.003, 1e-12);
  EXPECT_EQ(overview.ranks[1].run_queue, -1);  // that host does not tell
  EXPECT_EQ(overview.slowest_rank, 1);
  EXPECT_NEAR(overview.slowest_factor, 12.0 / 6.0, 1e-9);
}

TEST_F(RunOverviewTest, WithoutAStatusTheMetricsTellTheProgress) {
  WriteMetrics();
  const RunOverview overview = Read();
  EXPECT_EQ(overview.status.state, RunState::kRunning);
  EXPECT_EQ(overview.status.step, 3);
  EXPECT_EQ(overview.status.samples, 24);
  EXPECT_EQ(overview.status.world_size, 2);
  EXPECT_FALSE(overview.Ended());
  EXPECT_FALSE(overview.Silent());  // nothing tells since when
}

TEST_F(RunOverviewTest, ARunThatStoppedWritingIsSilent) {
  RunStatus status;
  status.state = RunState::kRunning;
  status.updated_unix_ms = kNow - 20'000;
  ASSERT_TRUE(WriteRunStatus(folder_, status).has_value());
  EXPECT_EQ(Read().silent_seconds, 20.0);
  EXPECT_FALSE(Read().Silent());
  status.updated_unix_ms = kNow - 40'000;
  ASSERT_TRUE(WriteRunStatus(folder_, status).has_value());
  EXPECT_TRUE(Read().Silent());
  status.updated_unix_ms = kNow + 5'000;  // a clock that is behind
  ASSERT_TRUE(WriteRunStatus(folder_, status).has_value());
  EXPECT_EQ(Read().silent_seconds, 0.0);
}

TEST_F(RunOverviewTest, TheSummaryOverrulesAnOlderStatus) {
  WriteMetrics();
  RunStatus status;
  status.state = RunState::kRunning;
  status.world_size = 2;
  ASSERT_TRUE(WriteRunStatus(folder_, status).has_value());
  RunSummary summary;
  summary.status = "failed";
  summary.failure = "error[COMM-0002]: rank 0: lost a peer";
  summary.world_size = 2;
  summary.host.Set("cores", 2);
  Write("run.json", ToJson(summary).Dump());
  const RunOverview overview = Read();
  EXPECT_EQ(overview.status.state, RunState::kFailed);
  EXPECT_EQ(overview.status.error, summary.failure);
  EXPECT_EQ(overview.status.step, 3);  // what the metrics reached
  EXPECT_TRUE(overview.Ended());
  EXPECT_EQ(overview.silent_seconds, -1);
  EXPECT_EQ(overview.host["cores"].AsInt(), 2);
}

TEST_F(RunOverviewTest, DamagedFilesAreLeftOutAndDamagedLinesCounted) {
  Write("plan.json", "{ cut");
  Write("status.json", "{}");
  Write("run.json", "[]");
  Write("metrics.jsonl", "{\"kind\":\"step\",\"step\":1,\"step_ns\":5}\nx\n{\n");
  const RunOverview overview = Read();
  EXPECT_EQ(overview.skipped_lines, 2);
  EXPECT_EQ(overview.ranks.at(0).steps, 1);
  EXPECT_FALSE(overview.plan.has_value());
  EXPECT_FALSE(overview.summary.has_value());
}

TEST_F(RunOverviewTest, JsonSaysWhatTheStructSays) {
  WriteMetrics();
  const base::Json json = ToJson(Read());
  EXPECT_EQ(json["schema"].AsString(), "stepslack.run_overview/1");
  EXPECT_EQ(json["slowest"]["rank"].AsInt(), 1);
  EXPECT_EQ(json["ranks"].AsArray().size(), 2U);
  EXPECT_NEAR(json["ranks"].AsArray()[0]["step_seconds"].AsDouble(), 0.014, 1e-12);
  EXPECT_TRUE(json["ranks"].AsArray()[1]["run_queue_seconds"].is_null());
  EXPECT_TRUE(json["plan"].is_null());
  EXPECT_EQ(json["status"]["state"].AsString(), "running");
}

}  // namespace
}  // namespace stepslack::record

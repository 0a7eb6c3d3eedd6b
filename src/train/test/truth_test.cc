// What a run says about itself, with the real worker as processes: the hash ladder, the
// status file and the facts of the host.
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <thread>

#include "stepslack/base/context.h"
#include "stepslack/base/file.h"
#include "stepslack/base/process.h"
#include "stepslack/record/run_record.h"
#include "stepslack/record/run_status.h"
#include "tiny_run.h"

namespace stepslack::train {
namespace {

// Both ranks to their end, at most a minute; their exit codes.
std::vector<int> RunTwoRanks(const TinyRun& run) {
  const std::string worker =
      base::JoinPath(base::ParentFolder(base::ParentFolder(base::ExecutablePath())),
                     "stepslack-worker");
  std::vector<base::Process> ranks;
  for (int rank = 0; rank < 2; ++rank) {
    base::ProcessSpec spec;
    spec.argv = {worker, "--run-dir", run.folder()};
    spec.env = {{"STEPSLACK_RANK", std::to_string(rank)},
                {"STEPSLACK_WORLD_SIZE", "2"},
                {"STEPSLACK_STORE", run.Path("store")},
                {"OPENBLAS_NUM_THREADS", "1"},
                {"OMP_NUM_THREADS", "1"}};
    spec.log_path = run.Path(record::LogFileName(rank));
    auto process = base::Process::Start(spec);
    EXPECT_TRUE(process.has_value());
    if (process.has_value()) ranks.push_back(std::move(*process));
  }
  std::vector<int> codes;
  const int64_t limit = base::NowNs() + 60'000'000'000;
  for (base::Process& rank : ranks) {
    std::optional<base::ProcessEnd> end;
    while (!(end = rank.Poll()) && base::NowNs() < limit) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    codes.push_back(end ? end->exit_code : -1);
  }
  return codes;
}

record::RunRecord Done(const TinyRun& run) {
  EXPECT_EQ(RunTwoRanks(run), (std::vector<int>{0, 0}));
  auto record = record::ReadRun(run.folder());
  EXPECT_TRUE(record.has_value());
  return record.value_or(record::RunRecord());
}

TEST(Truth, TheLadderTellsRanksApartOnlyWhereTheyMayDiffer) {
  TinyRun run("ladder"), again("ladder_again"), plain("ladder_plain");
  run.plan.hash_every_steps = 3;
  again.plan.hash_every_steps = 3;
  run.WritePlan();
  again.WritePlan();
  const record::RunRecord first = Done(run);
  const record::RunRecord second = Done(again);
  const record::RunRecord unhashed = Done(plain);
  ASSERT_EQ(first.steps.size(), 2U);
  ASSERT_EQ(first.steps[0].size(), 9U);
  ASSERT_EQ(first.steps[1].size(), 9U);
  std::string last_parameters;
  for (size_t i = 0; i < 9; ++i) {
    const record::StepRecord& a = first.steps[0][i];
    const record::StepRecord& b = first.steps[1][i];
    if (a.step % 3 != 0) {
      EXPECT_EQ(a.parameter_hash + a.sample_hash + b.local_gradient_hash, "");
      continue;
    }
    EXPECT_EQ(a.parameter_hash.size(), 32U);
    EXPECT_EQ(a.parameter_hash, b.parameter_hash);
    EXPECT_EQ(a.reduced_gradient_hash, b.reduced_gradient_hash);
    EXPECT_NE(a.sample_hash, b.sample_hash);
    EXPECT_NE(a.local_gradient_hash, b.local_gradient_hash);
    EXPECT_NE(a.local_gradient_hash, a.reduced_gradient_hash);
    EXPECT_NE(a.parameter_hash, last_parameters);  // it learns
    last_parameters = a.parameter_hash;
    const record::StepRecord& c = second.steps.at(1).at(i);
    EXPECT_EQ(b.local_gradient_hash, c.local_gradient_hash);
    EXPECT_EQ(b.sample_hash, c.sample_hash);
    EXPECT_EQ(b.reduced_gradient_hash, c.reduced_gradient_hash);
    EXPECT_EQ(b.parameter_hash, c.parameter_hash);
  }
  // Waiting with the exchange for the hash changes no bit of the result.
  EXPECT_EQ(first.summary.parameters_sha256, unhashed.summary.parameters_sha256);
}

TEST(Truth, AFinishedRunSaysSoAndWhereItRan) {
  TinyRun run("status_done");
  const record::RunRecord record = Done(run);
  const auto status = record::ReadRunStatus(run.folder());
  ASSERT_TRUE(status.has_value()) << Describe(status.error());
  EXPECT_EQ(status->state, record::RunState::kDone);
  EXPECT_EQ(status->step, 9);
  EXPECT_EQ(status->samples, 24);
  EXPECT_EQ(status->total_samples, 24);
  EXPECT_EQ(status->world_size, 2);
  EXPECT_EQ(status->checkpoint_step, 9);
  EXPECT_EQ(status->loss, record.steps.at(0).back().loss);
  EXPECT_EQ(status->eta_seconds, 0.0);
  EXPECT_EQ(status->error, "");
  int64_t step_ns = 0, lost_ns = 0;
  for (const record::StepRecord& step : record.steps.at(0)) {
    step_ns += step.step_ns;
    lost_ns += step.comm_wait_ns + step.data_ns;
    EXPECT_GT(step.resident_bytes, 1 << 20);
    EXPECT_GT(step.cpu_seconds, 0.0);
  }
  EXPECT_NEAR(status->efficiency,
              1.0 - static_cast<double>(lost_ns) / static_cast<double>(step_ns), 1e-12);

  const auto host = base::ReadFile(run.Path("host.rank0.json"));
  ASSERT_TRUE(host.has_value());
  EXPECT_EQ(base::ParseJson(*host, "host").value(), record.summary.host);
  EXPECT_TRUE(base::PathExists(run.Path("host.rank1.json")));
  EXPECT_FALSE(record.summary.host["blas"]["core_type"].AsString().empty());
  bool torch = false;
  for (const base::Json& library : record.summary.host["libraries"].AsArray()) {
    torch = torch || library["name"].AsString().starts_with("libtorch_cpu");
  }
  EXPECT_TRUE(torch);
  ASSERT_EQ(record.summary.runtime_tags.size(), 2U);
  EXPECT_EQ(record.summary.runtime_tags[0], record.summary.runtime_tags[1]);
  EXPECT_EQ(record.summary.hardware_tags[0], record.summary.hardware_tags[1]);
  EXPECT_EQ(record.summary.host["hardware_tag"].AsString(),
            record.summary.hardware_tags[0]);
}

TEST(Truth, AFailedRunKeepsWhatItHadAndSaysWhy) {
  TinyRun run("status_failed");
  run.plan.learning_rate = 1e30;
  run.plan.warmup_samples = 0;
  run.plan.clip_norm = 0;
  run.WritePlan();
  EXPECT_EQ(RunTwoRanks(run), (std::vector<int>{1, 1}));
  const auto status = record::ReadRunStatus(run.folder());
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(status->state, record::RunState::kFailed);
  EXPECT_NE(status->error.find("TRAIN-0020"), std::string::npos) << status->error;
  EXPECT_EQ(status->step, 1);  // the first step was good
  EXPECT_EQ(status->world_size, 2);
}

}  // namespace
}  // namespace stepslack::train

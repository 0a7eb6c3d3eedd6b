// The real worker as processes: transport, restarts and deaths.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <thread>

#include "stepslack/base/context.h"
#include "stepslack/base/file.h"
#include "stepslack/base/process.h"
#include "stepslack/base/random.h"
#include "stepslack/record/array_file.h"
#include "stepslack/record/run_record.h"
#include "tiny_run.h"

namespace stepslack::train {
namespace {

using base::Process;
using base::ProcessEnd;

std::string WorkerPath() {
  // Tests lie in tests/ beside the worker.
  return base::JoinPath(base::ParentFolder(base::ParentFolder(base::ExecutablePath())),
                        "stepslack-worker");
}

std::vector<Process> StartRanks(const TinyRun& run, int ranks) {
  static std::atomic<int> attempt{0};
  const std::string store = run.Path("store" + std::to_string(attempt++));
  std::vector<Process> processes;
  for (int rank = 0; rank < ranks; ++rank) {
    base::ProcessSpec spec;
    spec.argv = {WorkerPath(), "--run-dir", run.folder()};
    spec.env = {{"STEPSLACK_RANK", std::to_string(rank)},
                {"STEPSLACK_WORLD_SIZE", std::to_string(ranks)},
                {"STEPSLACK_STORE", store},
                {"OPENBLAS_NUM_THREADS", "1"},
                {"OMP_NUM_THREADS", "1"}};
    spec.log_path = run.Path(record::LogFileName(rank));
    auto process = Process::Start(spec);
    EXPECT_TRUE(process.has_value()) << Describe(process.error());
    if (process.has_value()) processes.push_back(std::move(*process));
  }
  return processes;
}

// Polls `done` for at most a minute.
bool WaitUntil(const std::function<bool()>& done) {
  const int64_t end = base::NowNs() + 60'000'000'000;
  while (base::NowNs() < end) {
    if (done()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

ProcessEnd WaitFor(Process& process) {
  std::optional<ProcessEnd> end;
  EXPECT_TRUE(WaitUntil([&] { return (end = process.Poll()).has_value(); }));
  return end.value_or(ProcessEnd{-1, 0});
}

std::string Log(const TinyRun& run, int rank) {
  return base::ReadFile(run.Path(record::LogFileName(rank))).value_or("");
}

record::RunRecord RunToTheEnd(const TinyRun& run, int ranks) {
  auto processes = StartRanks(run, ranks);
  for (size_t rank = 0; rank < processes.size(); ++rank) {
    const ProcessEnd end = WaitFor(processes[rank]);
    EXPECT_EQ(end.exit_code, 0) << Log(run, static_cast<int>(rank));
    EXPECT_EQ(end.signal, 0);
  }
  auto record = record::ReadRun(run.folder());
  EXPECT_TRUE(record.has_value());
  return record.value_or(record::RunRecord());
}

// Number of whole lines in a rank's metrics.
size_t MetricLines(const TinyRun& run, int rank) {
  const auto text = base::ReadFile(run.Path(record::MetricsFileName(rank)));
  if (!text.has_value()) return 0;
  return static_cast<size_t>(std::count(text->begin(), text->end(), '\n'));
}

TEST(Worker, TwoRanksLeaveACompleteRun) {
  TinyRun run("complete");
  run.plan.target_relative_mae = 10.0;  // reached at the first evaluation
  run.WritePlan();
  const record::RunRecord record = RunToTheEnd(run, 2);
  const record::RunSummary& summary = record.summary;
  EXPECT_EQ(summary.status, "done");
  EXPECT_EQ(summary.world_size, 2);
  EXPECT_EQ(summary.samples, 24);
  EXPECT_EQ(summary.steps, 9);  // three epochs of 3 + 3 + 2
  EXPECT_EQ(summary.runtime.at("transport"), "shm");
  EXPECT_EQ(summary.rank_cpu_seconds.size(), 2U);
  EXPECT_EQ(summary.runtime.at("loader_batches"), "9");
  EXPECT_EQ(summary.runtime.at("loader_threads"), "1");
  EXPECT_EQ(summary.runtime.at("checkpoints_saved"), "3");
  EXPECT_EQ(summary.runtime.at("checkpoints_skipped"), "0");
  EXPECT_EQ(record.skipped_lines, 0);
  ASSERT_EQ(record.steps.size(), 2U);
  ASSERT_EQ(record.steps[0].size(), 9U);
  ASSERT_EQ(record.steps[1].size(), 9U);
  int64_t explained_ns = 0, all_ns = 0;
  const std::vector<int64_t> totals = {3, 6, 8, 11, 14, 16, 19, 22, 24};
  for (size_t i = 0; i < 9; ++i) {
    const record::StepRecord& a = record.steps[0][i];
    const record::StepRecord& b = record.steps[1][i];
    EXPECT_EQ(a.step, static_cast<int64_t>(i) + 1);
    EXPECT_EQ(a.samples_total, totals[i]);
    EXPECT_EQ(a.rank_samples + b.rank_samples, totals[i] - (i > 0 ? totals[i - 1] : 0));
    EXPECT_EQ(a.loss, b.loss);
    EXPECT_EQ(a.grad_norm, b.grad_norm);
    EXPECT_NE(a.sample_digest, b.sample_digest);
    EXPECT_EQ(a.comm_bytes, b.comm_bytes);
    const int64_t phases =
        a.data_ns + a.forward_ns + a.backward_ns + a.comm_wait_ns + a.optimizer_ns;
    EXPECT_LE(phases, a.step_ns);
    explained_ns += phases;
    all_ns += a.step_ns;
  }
  EXPECT_GT(explained_ns,
            all_ns / 2);  // the phases explain the steps, even on a busy host
  ASSERT_EQ(record.evals.size(), 3U);
  EXPECT_TRUE(summary.target_reached);
  EXPECT_EQ(summary.samples_to_target, 8);
  EXPECT_EQ(summary.seconds_to_target, record.evals[0].train_seconds);
  EXPECT_EQ(summary.seconds_before_target, 0.0);
  const auto arrays = record::ReadNpz(run.Path("predictions.npz"));
  ASSERT_TRUE(arrays.has_value());
  EXPECT_EQ(arrays->at("prediction").shape, (std::vector<int64_t>{3, 16, 16}));
  EXPECT_EQ(arrays->at("index").values, (std::vector<float>{13, 11, 12}));
}

TEST(Worker, TraceHoldsThePlannedStepsAndTheirCollectives) {
  TinyRun run("trace");
  run.plan.backend = "gloo";  // which exchanges bucket by bucket
  run.WritePlan();
  RunToTheEnd(run, 2);
  for (int rank = 0; rank < 2; ++rank) {
    const auto text =
        base::ReadMaybeGzip(run.Path("trace.rank" + std::to_string(rank) + ".json.gz"));
    ASSERT_TRUE(text.has_value());
    const auto json = base::ParseJson(*text, "trace");
    ASSERT_TRUE(json.has_value());
    std::map<std::string, int> count;
    std::set<std::string> steps;
    for (const base::Json& event : (*json)["traceEvents"].AsArray()) {
      const std::string& name = event["name"].AsString();
      ++count[name];
      if (name.starts_with("ProfilerStep#")) steps.insert(name);
      if (name == "gloo:all_reduce") {
        EXPECT_EQ(event["tid"].AsInt(), 2);
        EXPECT_EQ(event["args"]["Group size"].AsInt(), 2);
      }
    }
    EXPECT_EQ(steps, (std::set<std::string>{"ProfilerStep#2", "ProfilerStep#3",
                                            "ProfilerStep#4"}));
    for (const char* phase :
         {"data", "forward", "backward", "comm_wait", "optimizer"}) {
      EXPECT_EQ(count[phase], 3) << phase;
    }
    // After step 3; those after steps 6 and 9 lie outside of the traced steps.
    EXPECT_EQ(count["eval"], 1);
    EXPECT_EQ(count["checkpoint"], 1);
    EXPECT_EQ(count["aten::conv2d"], 3 * 7);
    // Buckets of the tiny network; the evaluation after step 3 adds one sum.
    const auto summary = record::ReadRunSummary(run.folder());
    ASSERT_TRUE(summary.has_value());
    const int buckets = std::stoi(summary->runtime.at("buckets"));
    EXPECT_GE(buckets, 3);
    EXPECT_GE(count["gloo:all_reduce"], 3 * buckets);
    EXPECT_LE(count["gloo:all_reduce"], 3 * buckets + 1);
  }
}

TEST(Worker, RerunIsBitEqualAndOneRankSeesTheSameBatches) {
  TinyRun first("first"), again("again"), alone("alone"), other("other");
  other.plan.seed = 2;
  other.WritePlan();
  const auto a = RunToTheEnd(first, 2);
  const auto b = RunToTheEnd(again, 2);
  const auto one = RunToTheEnd(alone, 1);
  const auto seed2 = RunToTheEnd(other, 2);
  EXPECT_EQ(a.summary.parameters_sha256, b.summary.parameters_sha256);
  EXPECT_EQ(a.summary.predictions_sha256, b.summary.predictions_sha256);
  EXPECT_NE(a.summary.parameters_sha256, seed2.summary.parameters_sha256);
  ASSERT_EQ(one.evals.size(), a.evals.size());
  ASSERT_EQ(one.steps.at(0).size(), a.steps.at(0).size());
  // The same global batches; float sums in another order, which training amplifies.
  EXPECT_NEAR(one.steps[0][0].loss, a.steps[0][0].loss, 1e-6);
  EXPECT_NEAR(one.steps[0][0].grad_norm, a.steps[0][0].grad_norm,
              1e-4 * one.steps[0][0].grad_norm);
  EXPECT_NEAR(one.evals[2].relative_mae, a.evals[2].relative_mae,
              0.05 * one.evals[2].relative_mae);
}

class ResumedWorker : public testing::TestWithParam<const char*> {};

// With compression the error that was not sent yet is part of the state.
TEST_P(ResumedWorker, EndsBitEqualToAnUninterruptedRunAfterKill) {
  TinyRun whole(std::string("whole_") + GetParam());
  TinyRun cut(std::string("cut_") + GetParam());
  for (TinyRun* run : {&whole, &cut}) {
    run->plan.compression = GetParam();
    run->plan.topk_share = 0.1;
    run->WritePlan();
  }
  const auto expected = RunToTheEnd(whole, 2);
  cut.plan.fault_rank = 1;  // slow enough to be caught between two checkpoints
  cut.plan.fault_sleep_ms = 300;
  cut.WritePlan();
  {
    auto ranks = StartRanks(cut, 2);
    ASSERT_TRUE(WaitUntil([&] { return MetricLines(cut, 1) >= 4; }));
    ASSERT_TRUE(base::PathExists(cut.Path("checkpoints/step3.pt")));
    for (Process& rank : ranks) rank.Kill();
  }
  EXPECT_FALSE(base::PathExists(cut.Path("run.json")));
  cut.plan.fault_rank = -1;
  cut.plan.fault_sleep_ms = 0;
  cut.WritePlan();
  const auto resumed = RunToTheEnd(cut, 2);
  EXPECT_EQ(resumed.summary.restarts, 1);
  EXPECT_EQ(resumed.summary.parameters_sha256, expected.summary.parameters_sha256);
  EXPECT_EQ(resumed.summary.predictions_sha256, expected.summary.predictions_sha256);
  for (size_t rank = 0; rank < 2; ++rank) {
    ASSERT_EQ(resumed.steps[rank].size(), 9U);  // no step twice, none missing
    for (size_t i = 0; i < 9; ++i) {
      EXPECT_EQ(resumed.steps[rank][i].step, static_cast<int64_t>(i) + 1);
      EXPECT_EQ(resumed.steps[rank][i].loss, expected.steps[rank][i].loss);
      EXPECT_EQ(resumed.steps[rank][i].sample_digest,
                expected.steps[rank][i].sample_digest);
    }
  }
  EXPECT_EQ(resumed.evals.size(), 3U);
}

INSTANTIATE_TEST_SUITE_P(Compression, ResumedWorker,
                         testing::Values("none", "topk", "powersgd"));

TEST(Worker, KilledAtAnyMomentWhileSavingEveryStepItEndsBitEqual) {
  TinyRun whole("plain"), cut("saving");
  whole.plan.samples = cut.plan.samples = 53;  // 20 steps
  whole.plan.loader_threads = 0;
  whole.plan.async_checkpoint = false;
  whole.WritePlan();
  cut.plan.loader_threads = 3;
  cut.plan.checkpoint_every_samples = 1;
  cut.WritePlan();
  const auto expected = RunToTheEnd(whole, 2);
  ASSERT_EQ(expected.summary.steps, 20);
  base::Random random(23);
  int restarts = 0;
  for (const size_t lines : {4, 12}) {
    auto ranks = StartRanks(cut, 2);
    ASSERT_EQ(ranks.size(), 2U);
    ASSERT_TRUE(WaitUntil([&] { return MetricLines(cut, 0) >= lines; }));
    std::this_thread::sleep_for(std::chrono::microseconds(random.Below(30'000)));
    for (Process& rank : ranks) rank.Kill();
    ++restarts;
  }
  const auto resumed = RunToTheEnd(cut, 2);
  EXPECT_GE(resumed.summary.restarts, 1);
  EXPECT_LE(resumed.summary.restarts, restarts);
  EXPECT_EQ(resumed.summary.parameters_sha256, expected.summary.parameters_sha256);
  EXPECT_EQ(resumed.summary.predictions_sha256, expected.summary.predictions_sha256);
  for (size_t rank = 0; rank < 2; ++rank) {
    ASSERT_EQ(resumed.steps[rank].size(), 20U);
    for (size_t i = 0; i < 20; ++i) {
      EXPECT_EQ(resumed.steps[rank][i].loss, expected.steps[rank][i].loss);
    }
  }
  // Nothing half written is left behind.
  const auto files = base::ListFolder(cut.Path("checkpoints"));
  ASSERT_TRUE(files.has_value());
  EXPECT_EQ(*files, (std::vector<std::string>{"step19.pt", "step20.pt"}));
}

TEST(Worker, ADamagedCheckpointIsSkippedAndAnotherWorldSizeGoesOn) {
  TinyRun run("skips");
  run.plan.checkpoint_every_samples = 1;
  run.plan.keep_checkpoints = 5;  // steps 5 to 9
  run.WritePlan();
  const auto expected = RunToTheEnd(run, 2);
  const auto restart_from_step_6 = [&](int ranks) {
    for (const char* name : {"step9.pt", "step8.pt"}) {
      ASSERT_EQ(::unlink(run.Path(std::string("checkpoints/") + name).c_str()), 0);
    }
    ASSERT_TRUE(
        base::WriteFileAtomic(run.Path("checkpoints/step7.pt"), "PK").has_value());
    const auto again = RunToTheEnd(run, ranks);
    EXPECT_EQ(again.summary.runtime.at("checkpoints_skipped"), "1");
    EXPECT_NE(Log(run, 0).find("warning[TRAIN-0060]: " +
                               run.Path("checkpoints/step7.pt") + ": skipped: "),
              std::string::npos)
        << Log(run, 0);
    ASSERT_EQ(again.steps.at(0).size(), 9U);
    // A sum over one rank rounds otherwise than a sum over two.
    const double tolerance = ranks == 2 ? 0 : 1e-4;
    for (size_t i = 6; i < 9; ++i) {
      const record::StepRecord& step = again.steps[0][i];
      const record::StepRecord& before = expected.steps[0][i];
      EXPECT_NEAR(step.loss, before.loss, tolerance * before.loss);
      EXPECT_EQ(step.learning_rate, before.learning_rate);
      EXPECT_EQ(step.samples_total, before.samples_total);
    }
    if (ranks != 2) return;
    EXPECT_EQ(again.summary.parameters_sha256, expected.summary.parameters_sha256);
  };
  restart_from_step_6(2);
  restart_from_step_6(1);
}

TEST(Worker, KilledRankIsNamedByTheOtherAndNothingLooksFinished) {
  TinyRun run("killed");
  run.plan.fault_rank = 0;
  run.plan.fault_sleep_ms = 200;
  run.WritePlan();
  auto ranks = StartRanks(run, 2);
  ASSERT_EQ(ranks.size(), 2U);
  ASSERT_TRUE(WaitUntil([&] { return MetricLines(run, 0) >= 1; }));
  const std::string process = std::to_string(ranks[1].pid());
  ::kill(ranks[1].pid(), SIGKILL);
  const int64_t start = base::NowNs();
  const ProcessEnd end = WaitFor(ranks[0]);
  EXPECT_LT(base::NowNs() - start, int64_t{10'000'000'000});  // half the time-out
  EXPECT_EQ(end.exit_code, 4);
  const std::string log = Log(run, 0);
  EXPECT_NE(log.find("error[COMM-0002]: rank 0: lost a peer in "), std::string::npos)
      << log;
  EXPECT_NE(log.find("rank 1 (process " + process + ") has ended"), std::string::npos)
      << log;
  EXPECT_NE(log.find(" seq "), std::string::npos) << log;
  const auto summary = record::ReadRunSummary(run.folder());
  ASSERT_TRUE(summary.has_value());
  EXPECT_EQ(summary->status, "failed");
}

// Updates on their way into the next forward pass when everything is killed.
TEST(Worker, WithUpdatesAcrossStepsAKilledRunEndsBitEqualToABlockingOne) {
  TinyRun whole("step_whole"), cut("step_cut");
  for (TinyRun* run : {&whole, &cut}) {
    run->plan.backend = "gloo";
    run->plan.clip_norm = 0;
    run->plan.samples = 53;  // 20 steps
  }
  whole.plan.overlap = false;
  whole.WritePlan();
  cut.plan.fault_rank = 1;
  cut.plan.fault_sleep_ms = 60;
  cut.WritePlan();
  const auto expected = RunToTheEnd(whole, 2);
  {
    auto ranks = StartRanks(cut, 2);
    ASSERT_TRUE(WaitUntil([&] { return MetricLines(cut, 1) >= 6; }));
    for (Process& rank : ranks) rank.Kill();
  }
  cut.plan.fault_rank = -1;
  cut.plan.fault_sleep_ms = 0;
  cut.WritePlan();
  const auto resumed = RunToTheEnd(cut, 2);
  EXPECT_EQ(resumed.summary.runtime.at("exchange"), "step");
  EXPECT_EQ(resumed.summary.restarts, 1);
  EXPECT_EQ(resumed.summary.parameters_sha256, expected.summary.parameters_sha256);
  ASSERT_EQ(resumed.steps.at(1).size(), 20U);  // no step twice, none missing
  for (size_t i = 0; i < 20; ++i) {
    EXPECT_EQ(resumed.steps[1][i].grad_norm, expected.steps[1][i].grad_norm);
  }
}

TEST(Worker, WithUpdatesAcrossStepsAKilledRankIsNamed) {
  TinyRun run("step_killed");
  run.plan.backend = "gloo";
  run.plan.clip_norm = 0;
  run.plan.fault_rank = 0;
  run.plan.fault_sleep_ms = 200;
  run.WritePlan();
  auto ranks = StartRanks(run, 2);
  ASSERT_EQ(ranks.size(), 2U);
  ASSERT_TRUE(WaitUntil([&] { return MetricLines(run, 0) >= 2; }));
  const std::string process = std::to_string(ranks[1].pid());
  ::kill(ranks[1].pid(), SIGKILL);
  EXPECT_EQ(WaitFor(ranks[0]).exit_code, 4);
  const std::string log = Log(run, 0);
  EXPECT_NE(log.find("error[COMM-0002]: rank 0: lost a peer in "), std::string::npos)
      << log;
  EXPECT_NE(log.find("rank 1 (process " + process + ") has ended"), std::string::npos)
      << log;
}

TEST(Worker, StoppedRankIsATimeOutThatNamesIt) {
  TinyRun run("stopped");
  run.plan.timeout_seconds = 2;
  run.plan.fault_rank = 0;
  run.plan.fault_sleep_ms = 200;
  run.WritePlan();
  auto ranks = StartRanks(run, 2);
  ASSERT_EQ(ranks.size(), 2U);
  ASSERT_TRUE(WaitUntil([&] { return MetricLines(run, 0) >= 1; }));
  const std::string process = std::to_string(ranks[1].pid());
  ::kill(ranks[1].pid(), SIGSTOP);
  const ProcessEnd end = WaitFor(ranks[0]);
  ranks[1].Kill();
  EXPECT_EQ(end.exit_code, 4);
  EXPECT_NE(Log(run, 0).find("error[COMM-0003]: rank 0: time-out in "),
            std::string::npos)
      << Log(run, 0);
  EXPECT_NE(Log(run, 0).find("rank 1 (process " + process + ") is stopped by a signal"),
            std::string::npos)
      << Log(run, 0);
}

TEST(Worker, CheckpointIsLoadedAtAnotherWorldSize) {
  TinyRun run("resized");
  const auto two = RunToTheEnd(run, 2);
  const auto one = RunToTheEnd(run, 1);
  EXPECT_EQ(one.summary.parameters_sha256, two.summary.parameters_sha256);
  EXPECT_EQ(one.summary.restarts, 1);
  ASSERT_EQ(one.summary.rank_cpu_seconds.size(), 1U);
  // The account of the rank that is gone is kept.
  EXPECT_GT(one.summary.cpu_seconds, two.summary.cpu_seconds * 0.5);
}

TEST(Worker, ARankThatGivesUpIsToldApartFromOneThatDied) {
  TinyRun run("gives_up");
  ASSERT_TRUE(base::MakeFolders(run.Path("metrics.jsonl/x")).has_value());
  auto ranks = StartRanks(run, 2);
  ASSERT_EQ(ranks.size(), 2U);
  const std::string process = std::to_string(ranks[0].pid());
  for (Process& rank : ranks) EXPECT_EQ(WaitFor(rank).exit_code, 4);
  EXPECT_NE(Log(run, 0).find("error[BASE-0002]"), std::string::npos) << Log(run, 0);
  EXPECT_NE(Log(run, 1).find("rank 0 (process " + process +
                             ") stopped with an error of its own"),
            std::string::npos)
      << Log(run, 1);
}

TEST(Worker, DivergenceNamesStepAndRankOnEveryRank) {
  TinyRun run("diverged");
  run.plan.learning_rate = 1e30;
  run.plan.warmup_samples = 0;
  run.plan.clip_norm = 0;
  run.WritePlan();
  auto ranks = StartRanks(run, 2);
  for (Process& rank : ranks) EXPECT_EQ(WaitFor(rank).exit_code, 1);
  for (int rank = 0; rank < 2; ++rank) {
    EXPECT_NE(Log(run, rank).find("error[TRAIN-0020]: rank 0, step 2: "),
              std::string::npos)
        << Log(run, rank);
  }
}

}  // namespace
}  // namespace stepslack::train

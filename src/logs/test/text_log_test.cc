#include "stepslack/logs/text_log.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "log_line.h"
#include "log_time.h"
#include "series_builder.h"

namespace stepslack::logs {
namespace {

SeriesSet Parse(std::string_view text) {
  auto set = ParseTextLog(text, "test.log");
  EXPECT_TRUE(set.has_value());
  return set.has_value() ? std::move(*set) : SeriesSet{};
}

const Check* CheckOf(const SeriesSet& set, std::string_view name) {
  for (const Check& check : set.checks) {
    if (check.name == name) return &check;
  }
  return nullptr;
}

constexpr std::string_view kTwoIterations =
    "[default3]: iteration 10/ 100 | consumed samples: 640 | elapsed time per "
    "iteration "
    "(ms): 500.0 | learning rate: 1.500E-04 | global batch size: 64 | lm loss: "
    "2.500000E+00 | samples per second: 128.000 | TFLOPs: 99.5 |\n"
    "[default3]: iteration 11/ 100 | consumed samples: 704 | elapsed time per "
    "iteration "
    "(ms): 250.0 | learning rate: 1.500E-04 | global batch size: 64 | lm loss: nan | "
    "samples per second: 256.000 | TFLOPs: 99.5 |\n";

TEST(TextLog, ReadsMegatronLinesWithUnitsAndSamples) {
  const SeriesSet set = Parse(kTwoIterations);
  EXPECT_EQ(set.run.framework, "megatron");
  EXPECT_EQ(set.run.planned_steps, 100);
  EXPECT_EQ(set.run.global_batch_size, 64);
  const Series* seconds = set.Find(kStepSeconds);
  ASSERT_NE(seconds, nullptr);
  ASSERT_EQ(seconds->points.size(), 2u);
  EXPECT_EQ(seconds->points[0].value, 0.5);
  EXPECT_EQ(seconds->points[1].samples, 704);
  EXPECT_EQ(seconds->unit, "s");
  const Series* loss = set.Find(kLoss);
  ASSERT_NE(loss, nullptr);
  EXPECT_EQ(loss->original, "lm loss");
  EXPECT_EQ(loss->points[0].value, 2.5);
  EXPECT_TRUE(std::isnan(loss->points[1].value));
  EXPECT_EQ(set.stats.Count("value NaN or infinite"), 1);
}

// 64 / 0.5 s = 128 and 64 / 0.25 s = 256; 704 - 640 = 1 x 64.
TEST(TextLog, ChecksRatesAndSamplesOfMegatronLines) {
  const SeriesSet set = Parse(kTwoIterations);
  const Check* rate = CheckOf(set, "samples_per_second");
  ASSERT_NE(rate, nullptr);
  EXPECT_EQ(rate->compared, 2);
  EXPECT_TRUE(rate->Passed());
  const Check* samples = CheckOf(set, "consumed_samples");
  ASSERT_NE(samples, nullptr);
  EXPECT_EQ(samples->compared, 1);
  EXPECT_TRUE(samples->Passed());
}

TEST(TextLog, FindsARateThatIsPerMillisecond) {
  const SeriesSet set = Parse(
      " iteration 1/ 9 | elapsed time per iteration (ms): 4000.0 | global batch size: "
      "8 "
      "| samples per second: 0.002 |\n");
  const Check* rate = CheckOf(set, "samples_per_second");
  ASSERT_NE(rate, nullptr);
  EXPECT_EQ(rate->agreed, 0);
  EXPECT_EQ(rate->expected, 2.0);
  EXPECT_EQ(rate->found, 0.002);
}

TEST(TextLog, JoinsAWrappedLineAndCountsACutOne) {
  const SeriesSet set = Parse(
      " iteration 1/ 9 | lm loss: 3.0 | number of skipped\n"
      "iterations: 2 | TFLOPs: 5.0 |\n"
      " iteration 2/ 9 | lm loss: 2.0 | learn\n");
  EXPECT_EQ(set.stats.Count("wrapped line joined"), 1);
  EXPECT_EQ(set.stats.Count("line cut short"), 1);
  const Series* skipped = set.Find("skipped_steps");
  ASSERT_NE(skipped, nullptr);
  EXPECT_EQ(skipped->points[0].value, 2.0);
  ASSERT_NE(set.Find(kLoss), nullptr);
  EXPECT_EQ(set.Find(kLoss)->points.size(), 2u);
}

TEST(TextLog, DropsTheNumberAtWhichTheFileIsCut) {
  const SeriesSet set = Parse(
      " iteration 1/ 9 | lm loss: 3.0 | grad norm: 1.25 |\n"
      " iteration 2/ 9 | lm loss: 2.0 | grad norm: 1");
  EXPECT_EQ(set.Find(kLoss)->points.size(), 2u);
  EXPECT_EQ(set.Find(kGradNorm)->points.size(), 1u);
  EXPECT_EQ(set.stats.Count("line cut short"), 1);
  EXPECT_EQ(set.stats.Count("last record without a line end, may be cut"), 1);
}

TEST(TextLog, EvaluationsOfSeveralSetsAtOneStepAreNoRestart) {
  const SeriesSet set = Parse(
      "{'loss': 2.5}\n{'eval_loss': 2.0, 'eval_runtime': 1}\n"
      "{'eval_b_loss': 3.0, 'eval_runtime': 1}\n"
      " validation loss at iteration 7 | lm loss value: 1.5E+00 | lm loss PPL: 4.48 |\n"
      " validation loss at iteration 7 on test set | lm loss value: 1.75E+00 |\n");
  EXPECT_EQ(set.run.segments, 1);
  EXPECT_EQ(set.Find("eval_b_loss")->points[0].step, 1);
  EXPECT_EQ(set.Find("eval_perplexity")->points[0].step, 7);
  EXPECT_EQ(set.Find("test_loss")->points[0].value, 1.75);
}

TEST(TextLog, SourcesWithTheSameNameDoNotShareASeries) {
  const SeriesSet set = Parse(
      "{'loss': 2.5, 'step': 5, 'epoch': 1}\n{'loss': 2.5, 'step': 4, 'epoch': 2}\n"
      "{'eval_loss': 2.0, 'step': 4, 'epoch': 3}\n");
  int epochs = 0;
  for (const Series& series : set.series) epochs += series.original == "epoch" ? 1 : 0;
  EXPECT_EQ(epochs, 2);
  EXPECT_EQ(set.Find(kEpoch)->points.size(), 2u);
  EXPECT_EQ(set.Find(kEpoch)->points[1].segment, 1);
}

TEST(TextLog, LeavesOutOtherRanksAndRepeatedLinesButKeepsRestarts) {
  const SeriesSet set = Parse(
      "[rank0]: iteration 1/ 9 | lm loss: 3.0 |\n"
      "[rank1]: iteration 1/ 9 | lm loss: 3.0 |\n"
      "[rank0]: iteration 2/ 9 | lm loss: 2.0 |\n"
      "[rank0]: iteration 2/ 9 | lm loss: 2.0 |\n"
      "[rank1]: iteration 2/ 9 | lm loss: 2.0 |\n"
      "[rank0]: iteration 1/ 9 | lm loss: 3.5 |\n"
      "[rank1]: iteration 1/ 9 | lm loss: 3.5 |\n");
  EXPECT_EQ(set.stats.Count("record of another rank"), 3);
  EXPECT_EQ(set.stats.Count("repeated record"), 1);
  EXPECT_EQ(set.stats.Count("restart: step goes back"), 1);
  const Series* loss = set.Find(kLoss);
  ASSERT_NE(loss, nullptr);
  ASSERT_EQ(loss->points.size(), 3u);
  EXPECT_EQ(loss->points[2].value, 3.5);
  EXPECT_EQ(loss->points[2].segment, 1);
  EXPECT_EQ(set.run.segments, 2);
}

// 1,000 tokens/s x 8 s / 4 steps = 2000 tokens of a step.
TEST(TextLog, ReadsColouredTorchtitanLinesAndTokensOfAStep) {
  const SeriesSet set = Parse(
      "[rank0]:[titan] 2025-06-04 08:51:48,000 - root - INFO - \x1b[31mstep:  1  "
      "\x1b[32mloss: 12.5\x1b[0m  memory: 2.00GiB(3.00%)  tps: 375  mfu: 2.20%\n"
      "[rank0]:[titan] 2025-06-04 08:51:56,000 - root - INFO - step:  5  loss: 11.5  "
      "memory: 2.50GiB(3.00%)  tps: 1,000  mfu: 41.00%\n"
      "[rank0]:[titan] 2025-06-04 08:51:57,000 - root - INFO - validate step: 5  loss: "
      "11.0  tps: 9,000\n");
  EXPECT_EQ(set.run.framework, "torchtitan");
  EXPECT_EQ(set.run.clock, Clock::kLocal);
  EXPECT_EQ(set.run.facts.at("tokens_per_step_per_device"), "2000");
  ASSERT_NE(set.Find(kPeakMemoryBytes), nullptr);
  EXPECT_EQ(set.Find(kPeakMemoryBytes)->points[0].value, 2147483648.0);
  EXPECT_EQ(set.Find("mfu")->points[1].value, 0.41);
  EXPECT_EQ(set.Find(kEvalLoss)->points[0].value, 11.0);
  const Series* seconds = set.Find(kStepSeconds);
  ASSERT_NE(seconds, nullptr);
  EXPECT_TRUE(seconds->derived);
  EXPECT_EQ(seconds->points[0].value, 2.0);  // 8 s for 4 steps
}

TEST(TextLog, ReadsDeepSpeedEngineLines) {
  const SeriesSet set = Parse(
      "[2024-03-07 15:27:02,646] [INFO] [timer.py:260:stop] epoch=0/micro_step=4/"
      "global_step=2, RunningAvgSamplesPerSec=58.5, CurrSamplesPerSec=61.25, "
      "MemAllocated=1.5GB, MaxMemAllocated=2.0GB\n"
      "[2024-03-07 15:27:15,063] [INFO] [logging.py:96:log_dist] [Rank 0] step=2, "
      "skipped=1, lr=[0.25, 0.5], mom=[(0.9, 0.999)]\n"
      "[2024-03-07 15:27:15,064] [INFO] [logging.py:96:log_dist] [Rank 0] time (ms) | "
      "fwd: 500.0 | bwd: 1000.0 | bwd_allreduce: 125.0 | step: 250.0\n"
      "[2024-03-07 15:27:16,000] [INFO] [logging.py:96:log_dist] [Rank 0] Overflow "
      "detected. Skipping step. Attempted loss scale: 2.0\n");
  EXPECT_EQ(set.run.framework, "deepspeed");
  EXPECT_EQ(set.Find(kSamplesPerSecond)->points[0].value, 61.25);
  EXPECT_EQ(set.Find(kMemoryBytes)->points[0].value, 1610612736.0);
  EXPECT_EQ(set.Find(kLearningRate)->points[0].value, 0.25);
  EXPECT_EQ(set.stats.Count("parameter groups with other values, first kept"), 1);
  EXPECT_EQ(set.Find("comm_seconds")->points[0].value, 0.125);
  EXPECT_EQ(set.Find("optimizer_seconds")->points[0].step, 2);
  EXPECT_EQ(set.stats.Count("step skipped for overflow"), 1);
}

TEST(TextLog, ReadsNemoLinesByGlobalStep) {
  const SeriesSet set = Parse(
      "[2025-10-17T11:33:02+08:00] Training epoch 1, iteration 3/9 | lr: 0.5 | "
      "global_batch_size: 32 | global_step: 13 | reduced_train_loss: 3.0 | "
      "train_step_timing in s: 2.5 | consumed_samples: 448 | val_loss: 3.5\n");
  const Series* loss = set.Find(kLoss);
  ASSERT_NE(loss, nullptr);
  EXPECT_EQ(loss->points[0].step, 13);
  EXPECT_EQ(loss->points[0].samples, 448);
  EXPECT_EQ(set.run.clock, Clock::kUtc);
  // 03:33:02 UTC, by `date -u -d 2025-10-17T11:33:02+08:00 +%s`.
  EXPECT_EQ(loss->points[0].time_ns, int64_t{1760671982} * 1'000'000'000);
  EXPECT_EQ(set.Find(kStepSeconds)->points[0].value, 2.5);
  EXPECT_EQ(set.Find(kEvalLoss)->points[0].value, 3.5);
}

TEST(TextLog, CountsStepsOfPrintedDictsThatHaveNone) {
  const SeriesSet set = Parse(
      "{'loss': 2.5, 'learning_rate': 0.5, 'epoch': 0.5}\n"
      "{'loss': '1.5', 'learning_rate': '0.25', 'epoch': '1.0'}\n"
      "{'eval_loss': 1.75, 'epoch': 1.0}\n"
      "{'train_runtime': 10.0, 'train_loss': 2.0, 'epoch': 1.0}\n");
  const Series* loss = set.Find(kLoss);
  ASSERT_NE(loss, nullptr);
  ASSERT_EQ(loss->points.size(), 2u);
  EXPECT_EQ(loss->points[1].step, 2);
  EXPECT_FALSE(loss->step_source.empty());
  EXPECT_EQ(set.Find(kEvalLoss)->points[0].step, 2);
  EXPECT_EQ(set.Find("train_loss_mean")->points[0].value, 2.0);
}

TEST(TextLog, RefusesTextWithoutMetrics) {
  EXPECT_FALSE(LooksLikeTextLog("hello\nstep: many\n"));
  const auto set = ParseTextLog("hello\n", "x");
  ASSERT_FALSE(set.has_value());
  EXPECT_EQ(set.error().id, "LOGS-0001");
}

TEST(ParseNumber, ReadsGroupsAndWordsAndRefusesLists) {
  EXPECT_EQ(ParseNumber("7,034"), 7034.0);
  EXPECT_EQ(ParseNumber("1,234,567.5"), 1234567.5);
  EXPECT_EQ(ParseNumber("1.5E+01"), 15.0);
  EXPECT_EQ(ParseNumber("-Infinity"), -INFINITY);
  EXPECT_FALSE(ParseNumber("1,2").has_value());
  EXPECT_FALSE(ParseNumber("12abc").has_value());
  EXPECT_FALSE(ParseNumber("").has_value());
}

TEST(LogTime, RefusesDatesThatDoNotExist) {
  EXPECT_FALSE(FindTime("2025-02-30 00:00:00").has_value());
  EXPECT_FALSE(FindTime("2025-13-01 00:00:00").has_value());
  const auto time = FindTime("x 1972-01-01 00:00:00,25 y");
  ASSERT_TRUE(time.has_value());
  EXPECT_EQ(time->ns, (int64_t{730} * 86400 * 1000 + 250) * 1'000'000);
}

TEST(LogLine, TakesOffWhatACarriageReturnOverwrote) {
  std::string storage;
  EXPECT_EQ(CleanLine("  5%|x|\r{'loss': 1}\r", storage), "{'loss': 1}");
  EXPECT_EQ(RankLabel("[default7]:"), "7");
  EXPECT_EQ(RankLabel("2023-10-26 21:31:16,318 [Rank 15]: "), "15");
  EXPECT_EQ(RankLabel(" 12: "), "12");
  EXPECT_EQ(RankLabel("no"), "");
}

}  // namespace
}  // namespace stepslack::logs

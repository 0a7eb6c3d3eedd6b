#include "stepslack/trace/mllog.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "stepslack/base/file.h"

namespace stepslack::trace {
namespace {

// A line as the logger prints it, at second `s` after an arbitrary instant.
std::string Line(std::string_view key, int64_t s, std::string_view metadata = "",
                 std::string_view value = "null") {
  return fmt::format(
      ":::MLLOG {{\"namespace\": \"\", \"time_ms\": {}, \"event_type\": "
      "\"INTERVAL_END\", \"key\": \"{}\", \"value\": {}, \"metadata\": {{\"file\": "
      "\"train.py\", \"lineno\": 42{}}}}}\n",
      1'700'000'000'000 + s * 1000, key, value, metadata);
}

constexpr std::string_view kSuccess = ", \"status\": \"success\"";

// Init 10 s, run 100 s with two blocks of 40 s and two evaluations of 10 s.
std::string WholeRun() {
  return "starting\n" + Line("submission_benchmark", 0, "", "\"bert\"") +
         Line("init_start", 0) + Line("seed", 1, "", "17") +
         Line("global_batch_size", 1, "", "448") + Line("init_stop", 9) +
         Line("run_start", 10) + Line("block_start", 10, ", \"first_epoch_num\": 1") +
         "loss 0.5\n" + Line("block_stop", 50, ", \"first_epoch_num\": 1") +
         Line("eval_start", 50, ", \"epoch_num\": 4") +
         Line("eval_accuracy", 60, ", \"epoch_num\": 4", "0.25") +
         Line("eval_stop", 60, ", \"epoch_num\": 4") +
         Line("block_start", 60, ", \"first_epoch_num\": 5") +
         Line("tracked_stats", 99, ", \"step\": 8", "{\"throughput\": 12.5}") +
         Line("block_stop", 100, ", \"first_epoch_num\": 5") +
         Line("eval_start", 100, ", \"epoch_num\": 8") +
         Line("eval_accuracy", 110, ", \"epoch_num\": 8", "0.75") +
         Line("eval_stop", 110, ", \"epoch_num\": 8") + Line("run_stop", 110, kSuccess);
}

MllogRun Parse(const std::string& text) {
  const auto run = ParseMllog(text, "made.txt");
  EXPECT_TRUE(run.has_value());
  return run.value_or(MllogRun{});
}

int64_t CountOf(const MllogRun& run, MllogKind kind) {
  int64_t count = 0;
  for (const MllogInterval& interval : run.intervals) count += interval.kind == kind;
  return count;
}

constexpr int64_t kS = 1'000'000'000;

TEST(Mllog, TotalsOfARunAddUp) {
  const MllogRun run = Parse(WholeRun());
  EXPECT_EQ(run.init_ns, 10 * kS);
  EXPECT_EQ(run.run_ns, 100 * kS);
  EXPECT_EQ(run.eval_ns, 20 * kS);
  EXPECT_EQ(run.train_ns, 80 * kS);
  EXPECT_EQ(run.eval_after_run_ns, 0);
  EXPECT_EQ(run.status, "success");
  EXPECT_EQ(run.benchmark, "bert");
  EXPECT_EQ(run.seed, 17);
  EXPECT_EQ(run.global_batch_size, 448);
  EXPECT_FALSE(run.train_samples.has_value());
  EXPECT_EQ(CountOf(run, MllogKind::kBlock), 2);
  EXPECT_EQ(CountOf(run, MllogKind::kEval), 2);
  EXPECT_TRUE(run.stats.counts().empty());
  EXPECT_EQ(run.lines, 18);
}

TEST(Mllog, PointsCarryTheirPosition) {
  const MllogRun run = Parse(WholeRun());
  ASSERT_EQ(run.eval_accuracy.size(), 2u);
  EXPECT_EQ(run.eval_accuracy[1].value, 0.75);
  EXPECT_EQ(run.eval_accuracy[1].at.epoch, 8);
  EXPECT_EQ(run.eval_accuracy[1].time_ns, (1'700'000'000 + 110) * kS);
  ASSERT_EQ(run.throughput.size(), 1u);
  EXPECT_EQ(run.throughput[0].value, 12.5);
}

TEST(Mllog, LinesAreFoundBehindPrefixesAndBehindOneAnother) {
  const std::string start = Line("run_start", 10);
  const MllogRun run = Parse("104: " + start.substr(0, start.size() - 1) +
                             "[1,0]<stdout>:" + Line("eval_accuracy", 11, "", "0.5") +
                             "\x1b[A" + Line("run_stop", 20));
  EXPECT_EQ(run.run_ns, 10 * kS);
  EXPECT_EQ(run.eval_accuracy.size(), 1u);
  EXPECT_TRUE(run.stats.counts().empty());
}

TEST(Mllog, LinesOfOtherProcessesAreDroppedAndCounted) {
  std::string text;
  for (int rank = 0; rank < 4; ++rank) text += Line("init_start", rank);
  text += Line("init_stop", 9) + Line("run_start", 10) + Line("run_start", 10);
  text += Line("eval_start", 20, ", \"epoch_num\": 1");
  text += Line("eval_start", 21, ", \"epoch_num\": 1");
  text += Line("eval_accuracy", 24, ", \"epoch_num\": 1", "0.5");
  text += Line("eval_accuracy", 25, ", \"epoch_num\": 1", "0.5");
  text += Line("eval_stop", 24, ", \"epoch_num\": 1");
  text += Line("eval_stop", 25, ", \"epoch_num\": 1");
  text += Line("run_stop", 30, kSuccess);
  const MllogRun run = Parse(text);
  EXPECT_EQ(run.init_ns, 10 * kS);  // from the first of them
  EXPECT_EQ(run.eval_ns, 4 * kS);
  EXPECT_EQ(run.eval_accuracy.size(), 1u);
  EXPECT_EQ(CountOf(run, MllogKind::kInit), 1);
  EXPECT_EQ(run.stats.Count("line of another process"), 6);
  EXPECT_EQ(run.stats.Count("repeated line"), 1);
}

TEST(Mllog, ARepeatedLineIsOneWhateverStandsAroundIt) {
  const std::string start = Line("run_start", 0);
  const std::string start_without_end = start.substr(0, start.size() - 1);
  const MllogRun run = Parse("0: " + start + "1: " + start_without_end + " loss 0.5\n" +
                             Line("run_stop", 5));
  EXPECT_EQ(run.stats.Count("repeated line"), 1);
  EXPECT_EQ(run.stats.counts().size(), 1u);
}

TEST(Mllog, TwoMetricsOfOneEvaluationAreTwoPoints) {
  const MllogRun run = Parse(
      Line("eval_accuracy", 1, ", \"samples_count\": 512, \"metric\": \"FID\"", "90") +
      Line("eval_accuracy", 2, ", \"samples_count\": 512, \"metric\": \"CLIP\"",
           "0.15"));
  ASSERT_EQ(run.eval_accuracy.size(), 2u);
  EXPECT_EQ(run.eval_accuracy[0].metric, "FID");
  EXPECT_EQ(run.eval_accuracy[1].metric, "CLIP");
  EXPECT_EQ(run.eval_accuracy[1].at.samples, 512);
}

TEST(Mllog, WithoutEvalIntervalsTheTimeOfEvaluationIsAbsent) {
  const MllogRun run =
      Parse(Line("run_start", 0) + Line("block_stop", 40, ", \"samples_count\": 64") +
            Line("eval_accuracy", 40, ", \"samples_count\": 64", "0.5") +
            Line("block_start", 40, ", \"samples_count\": 2") + Line("run_stop", 50));
  EXPECT_EQ(run.run_ns, 50 * kS);
  EXPECT_FALSE(run.eval_ns.has_value());
  EXPECT_FALSE(run.train_ns.has_value());
  EXPECT_EQ(run.no_eval, "the log has accuracies, but not the time they took");
  EXPECT_EQ(run.stats.Count("end without a start"), 1);
  EXPECT_EQ(run.stats.Count("interval without an end"), 1);
  EXPECT_EQ(run.status, "");
}

TEST(Mllog, EvaluationAfterTheRunIsNoPartOfIt) {
  const MllogRun run = Parse(Line("run_start", 0) + Line("run_stop", 50, kSuccess) +
                             Line("eval_start", 100) + Line("eval_stop", 130));
  EXPECT_EQ(run.eval_ns, 0);
  EXPECT_EQ(run.train_ns, 50 * kS);
  EXPECT_EQ(run.eval_after_run_ns, 30 * kS);
}

TEST(Mllog, ALogThatIsCutHasNoRunTime) {
  const std::string whole = WholeRun();
  const MllogRun run = Parse(whole.substr(0, whole.find("run_stop") + 20));
  EXPECT_FALSE(run.run_ns.has_value());
  EXPECT_EQ(run.no_run, "the log has no run_stop");
  EXPECT_EQ(run.init_ns, 10 * kS);
  EXPECT_EQ(run.stats.Count("broken line"), 1);
  for (const MllogInterval& interval : run.intervals) {
    if (interval.kind != MllogKind::kRun) continue;
    EXPECT_FALSE(interval.ended);
    EXPECT_EQ(interval.end_ns - interval.start_ns, 100 * kS);  // to the last line
  }
}

TEST(Mllog, AnIntervalEndsWhereTheNextOfItsKindStarts) {
  const MllogRun run = Parse(Line("epoch_start", 0, ", \"epoch_num\": 1") +
                             Line("epoch_start", 7, ", \"epoch_num\": 2") +
                             Line("epoch_stop", 9, ", \"epoch_num\": 2"));
  ASSERT_EQ(run.intervals.size(), 2u);
  EXPECT_FALSE(run.intervals[0].ended);
  EXPECT_EQ(run.intervals[0].end_ns - run.intervals[0].start_ns, 7 * kS);
  EXPECT_TRUE(run.intervals[1].ended);
  EXPECT_EQ(run.stats.Count("interval without an end"), 1);
}

TEST(Mllog, OfSeveralRunsTheFirstIsMeasured) {
  const MllogRun run =
      Parse(Line("run_start", 0) + Line("run_stop", 5, kSuccess) +
            Line("run_start", 10) + Line("run_stop", 90, ", \"status\": \"aborted\""));
  EXPECT_EQ(run.run_ns, 5 * kS);
  EXPECT_EQ(run.status, "success");
  EXPECT_EQ(run.stats.Count("further run, not measured"), 1);
}

TEST(Mllog, BrokenLinesAreCountedAndTheRestIsUsed) {
  const MllogRun run = Parse(
      ":::MLLOG\n:::MLLOG {\n:::MLLOG {\"key\": \"seed\"}\n"
      ":::MLLOG {\"time_ms\": 5}\n:::MLLOG {\"key\": \"x\", \"time_ms\": -5}\n" +
      Line("run_start", 0) + Line("run_stop", 1));
  EXPECT_EQ(run.run_ns, kS);
  EXPECT_EQ(run.stats.Count("broken line"), 5);
  EXPECT_EQ(run.stats.counts().at("broken line").first_offset, 0);
  EXPECT_EQ(run.lines, 7);
}

TEST(Mllog, ValuesThatAreNoNumbersAreCounted) {
  const MllogRun run =
      Parse(Line("eval_accuracy", 1, "", "NaN") + Line("seed", 1, "", "\"none\"") +
            Line("tracked_stats", 2, "", "{\"throughput\": Infinity}"));
  EXPECT_TRUE(run.eval_accuracy.empty());
  EXPECT_TRUE(run.throughput.empty());
  EXPECT_FALSE(run.seed.has_value());
  EXPECT_EQ(run.stats.Count("value that is no number"), 3);
}

TEST(Mllog, MillisecondsMayHaveDecimals) {
  const MllogRun run = Parse(
      ":::MLLOG {\"key\": \"run_start\", \"time_ms\": 1700000000000.25}\n"
      ":::MLLOG {\"key\": \"run_stop\", \"time_ms\": 1700000000001.5}\n");
  EXPECT_EQ(run.run_ns, 1'250'000);
}

TEST(Mllog, OtherTextIsRefused) {
  EXPECT_EQ(ParseMllog("step 1 loss 0.5\n", "x").error().id, "TRACE-0143");
  EXPECT_FALSE(LooksLikeMllog("step 1 loss 0.5\n"));
  EXPECT_TRUE(LooksLikeMllog("0: :::MLLOG {"));
}

TEST(Mllog, JsonGivesSecondsOrAReason) {
  const base::Json json = ToJson(Parse(WholeRun()));
  EXPECT_EQ(json["run_s"].AsDouble(), 100);
  EXPECT_EQ(json["train_s"].AsDouble(), 80);
  EXPECT_EQ(json["intervals"]["eval"]["count"].AsInt(), 2);
  const base::Json cut = ToJson(Parse(Line("run_start", 0)));
  EXPECT_TRUE(cut["run_s"].is_null());
  EXPECT_EQ(cut["run_s_reason"].AsString(), "the log has no run_stop");
}

TEST(Mllog, GzipIsReadAndBounded) {
  const std::string path =
      (std::filesystem::temp_directory_path() / "mllog_test.txt.gz").string();
  ASSERT_TRUE(base::WriteFileAtomic(path, base::Gzip(WholeRun())).has_value());
  const auto run = ReadMllog(path);
  ASSERT_TRUE(run.has_value());
  EXPECT_EQ(run->run_ns, 100 * kS);
  EXPECT_EQ(ReadMllog(path, {.max_bytes = 64}).error().id, "TRACE-0002");
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace stepslack::trace

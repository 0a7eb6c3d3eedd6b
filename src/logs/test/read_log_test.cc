#include "stepslack/logs/read_log.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "crc32c.h"
#include "stepslack/base/file.h"
#include "stepslack/logs/json_log.h"
#include "stepslack/logs/tfevents.h"
#include "tfevents_writer.h"

namespace stepslack::logs {
namespace {

SeriesSet Parse(std::string_view text, const LogOptions& options = {}) {
  auto set = ParseLog(text, "run/loss", options);
  EXPECT_TRUE(set.has_value()) << (set.has_value() ? "" : set.error().what);
  return set.has_value() ? std::move(*set) : SeriesSet{};
}

TEST(ReadLog, RefusesContentThatNoReaderKnows) {
  const auto set = ParseLog("hello", "x");
  ASSERT_FALSE(set.has_value());
  EXPECT_EQ(set.error().id, "LOGS-0060");
}

TEST(CsvLog, ReadsRowsWithEmptyCellsRepeatedHeaderAndRestart) {
  const SeriesSet set = Parse(
      "epoch,step,train_loss,val_loss\n0,1,2.5,\n0,2,,2.25\nepoch,step,train_loss,"
      "val_loss\n0,3,1.5,\n0,1,2.75,\n0,4\n");
  EXPECT_EQ(set.run.format, "csv");
  const Series* loss = set.Find(kLoss);
  ASSERT_NE(loss, nullptr);
  ASSERT_EQ(loss->points.size(), 3u);
  EXPECT_EQ(loss->points[2].segment, 1);
  EXPECT_EQ(set.Find(kEvalLoss)->points.size(), 1u);
  EXPECT_EQ(set.stats.Count("header again"), 1);
  EXPECT_EQ(set.stats.Count("row with another number of cells"), 1);
}

TEST(CsvLog, TakesTheColumnsThatTheUserNames) {
  LogOptions options;
  options.mapping.step = "it";
  options.mapping.time = "when";
  options.mapping.time_unit = TimeUnit::kMilliseconds;
  options.mapping.metrics["obj"] = "loss";
  const SeriesSet set = Parse("it;when;obj\n5;1000.5;\"2.5\"\n6;2000.5;1.5\n", options);
  const Series* loss = set.Find(kLoss);
  ASSERT_NE(loss, nullptr);
  EXPECT_EQ(loss->original, "obj");
  EXPECT_EQ(loss->points[0].step, 5);
  EXPECT_EQ(loss->points[0].time_ns, 1'000'500'000);
  EXPECT_EQ(set.Find(kStepSeconds)->points[0].value, 1.0);
  options.mapping.metrics["absent"] = "loss";
  const auto failed = ParseLog("it;when;obj\n5;1000.5;2.5\n", "x", options);
  ASSERT_FALSE(failed.has_value());
  EXPECT_EQ(failed.error().id, "LOGS-0011");
}

TEST(CsvLog, SaysThatAChartOfBucketsIsSampled) {
  const SeriesSet set = Parse(
      "\"Step\",\"blue - train/loss\",\"blue - train/loss__MIN\",\"blue - "
      "train/loss__MAX\"\n\"0\",\"2\",\"1\",\"3\"\n\"10\",\"1\",\"1\",\"1\"\n");
  EXPECT_EQ(set.run.facts.at("run"), "blue");
  ASSERT_NE(set.Find(kLoss), nullptr);
  EXPECT_EQ(set.Find(kLoss)->points[1].step, 10);
  EXPECT_EQ(set.stats.Count("bucket with different minimum and maximum"), 1);
  ASSERT_EQ(set.notes.size(), 1u);
  EXPECT_NE(set.notes[0].find("sampled"), std::string::npos);
}

TEST(JsonLines, KeepNaNAndExactTimesAndCountBrokenLines) {
  const SeriesSet set = Parse(
      "{\"_step\": 1, \"_timestamp\": 1680093787.523575, \"loss\": NaN, \"g\": {\"a\": "
      "2}}\n{\"_step\": 2, \"loss\": 1.5, \"text\": \"x\"}\n{\"_step\": 3, \"lo\n");
  EXPECT_EQ(set.run.framework, "wandb");
  const Series* loss = set.Find(kLoss);
  ASSERT_NE(loss, nullptr);
  ASSERT_EQ(loss->points.size(), 2u);
  EXPECT_TRUE(std::isnan(loss->points[0].value));
  EXPECT_EQ(loss->points[0].time_ns, 1'680'093'787'523'575'000);
  EXPECT_EQ(set.Find("g/a")->points[0].value, 2.0);
  EXPECT_EQ(set.stats.Count("line that is no JSON object"), 1);
  EXPECT_EQ(set.stats.Count("field that is no number"), 1);
}

TEST(JsonLines, SayThatExactly500RowsAreASample) {
  std::string text;
  for (int i = 0; i < 500; ++i)
    text += "{\"_step\": " + std::to_string(i * 7) + ", \"loss\": 1}\n";
  EXPECT_EQ(Parse(text).stats.Count("history of exactly 500 rows: sampled"), 1);
}

TEST(JsonLines, ReadMetricsOfOurOwnRuns) {
  const SeriesSet set = Parse(
      "{\"kind\":\"step\",\"step\":3,\"samples_total\":24,\"start_ns\":5000,\"step_"
      "ns\":"
      "250000000,\"loss\":0.5}\n{\"kind\":\"eval\",\"step\":3,\"samples_total\":24,"
      "\"train_seconds\":1.5,\"relative_mae\":0.25}\n");
  EXPECT_EQ(set.run.framework, "stepslack");
  EXPECT_EQ(set.run.clock, Clock::kMonotonic);
  EXPECT_EQ(set.Find(kStepSeconds)->points[0].value, 0.25);
  EXPECT_EQ(set.Find(kLoss)->points[0].samples, 24);
  EXPECT_EQ(set.Find(kLoss)->points[0].time_ns, 5000);
}

TEST(JsonRows, ReadAnArrayOfRows) {
  const SeriesSet set =
      Parse("[\n {\"step\": 1, \"lr\": 0.5},\n {\"step\": 2, \"lr\": 0.25}]");
  EXPECT_EQ(set.Find(kLearningRate)->points[1].value, 0.25);
}

// 2 samples/s x 100 s / 10 steps = 20 samples; 4 x 25 = 100 and 5 x 20 = 100.
TEST(TrainerState, DerivesTheBatchAndChecksTheEvaluations) {
  const SeriesSet set = Parse(
      "{\"log_history\": [{\"step\": 5, \"loss\": 2.5, \"epoch\": 0.5},"
      "{\"step\": 5, \"eval_loss\": Infinity, \"eval_runtime\": 25, "
      "\"eval_samples_per_second\": 4},"
      "{\"step\": 10, \"eval_loss\": 1.0, \"eval_runtime\": 20, "
      "\"eval_samples_per_second\": 5},"
      "{\"step\": 10, \"train_runtime\": 100, \"train_samples_per_second\": 2, "
      "\"train_steps_per_second\": 0.1, \"train_loss\": 2.0}, {\"loss\": 1}], "
      "\"max_steps\": 10}");
  EXPECT_EQ(set.run.global_batch_size, 20);
  EXPECT_EQ(set.run.derived.count("global_batch_size"), 1u);
  EXPECT_EQ(set.run.facts.at("eval_samples"), "100");
  EXPECT_EQ(set.Find(kLoss)->points.size(), 1u);
  EXPECT_EQ(set.Find(kLoss)->points[0].samples, 100);  // derived: 5 x 20
  EXPECT_EQ(set.Find(kLoss)->samples_how, "step x global_batch_size");
  EXPECT_TRUE(std::isinf(set.Find(kEvalLoss)->points[0].value));
  EXPECT_EQ(set.stats.Count("record without a step"), 1);
  for (const Check& check : set.checks) EXPECT_TRUE(check.Passed()) << check.name;
  EXPECT_EQ(set.checks.size(), 2u);
}

TEST(GoldenValues, ReadObjectsInStepOrderAndOldArrays) {
  const SeriesSet set = Parse(
      "{\"lm loss\": {\"start_step\": 1, \"step_interval\": 1, \"values\": {\"10\": "
      "1.5, "
      "\"2\": \"nan\"}}, \"num-zeros\": {\"start_step\": 0, \"step_interval\": 5, "
      "\"values\": [7, 8]}}");
  const Series* loss = set.Find(kLoss);
  ASSERT_NE(loss, nullptr);
  EXPECT_EQ(loss->points[0].step, 2);
  EXPECT_TRUE(std::isnan(loss->points[0].value));
  EXPECT_EQ(loss->points[1].value, 1.5);
  EXPECT_EQ(set.Find("num_zeros")->points[1].step, 5);
}

TEST(Mlflow, ReadsMetricLinesWithMilliseconds) {
  const SeriesSet set = Parse("1628697792090 2.5 0\n1628697795789 1.5 1\nbroken\n");
  EXPECT_EQ(set.run.format, "mlflow");
  const Series* loss = set.Find(kLoss);
  ASSERT_NE(loss, nullptr);
  EXPECT_EQ(loss->points[0].time_ns, 1'628'697'792'090'000'000);
  EXPECT_EQ(set.stats.Count("line of another form"), 1);
  // 3.699 s between the lines.
  EXPECT_DOUBLE_EQ(set.Find(kStepSeconds)->points[0].value, 3.699);
}

TEST(Mllog, TakesSamplesFromTheEpochOfResnet) {
  const auto line = [](int ms, const std::string& key, const std::string& value,
                       const std::string& metadata) {
    return ":::MLLOG {\"namespace\": \"\", \"time_ms\": " + std::to_string(ms) +
           ", \"event_type\": \"POINT_IN_TIME\", \"key\": \"" + key +
           "\", \"value\": " + value + ", \"metadata\": {" + metadata + "}}\n";
  };
  const SeriesSet set = Parse(
      line(1000, "submission_benchmark", "\"resnet\"", "") +
      line(1000, "train_samples", "100", "") + line(2000, "run_start", "null", "") +
      line(5000, "eval_accuracy", "0.5", "\"epoch_num\": 3") +
      line(12000, "run_stop", "null", "\"status\": \"success\""));
  EXPECT_EQ(set.run.facts.at("samples"), "300");
  EXPECT_EQ(set.run.facts.at("run_seconds"), "10");
  EXPECT_EQ(set.Find(kSamplesPerSecond)->points[0].value, 30.0);
  EXPECT_TRUE(set.Find(kSamplesPerSecond)->derived);
}

// RFC 3720 appendix B.4: 32 bytes of zeros, and 0..31.
TEST(Crc32c, AgreesWithTheExamplesOfTheRfc) {
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8a9136aau);
  std::string counting;
  for (char c = 0; c < 32; ++c) counting += c;
  EXPECT_EQ(Crc32c(counting), 0x46dd794eu);
}

TEST(Tfevents, ReadsScalarsAndLeavesOutADamagedRecord) {
  const std::string first = EventRecord(10, 1, "train/loss", 2.5f);
  std::string second = EventRecord(11, 2, "train/loss", 1.5f);
  const std::string third = EventRecord(12.5, 3, "train/loss", 0.5f);
  second[20] = static_cast<char>(second[20] ^ 1);
  const SeriesSet set = Parse(first + second + third);
  EXPECT_EQ(set.stats.Count("record with a wrong checksum, left out"), 1);
  EXPECT_EQ(set.run.facts.at("checksums_verified"), "5");
  const Series* loss = set.Find(kLoss);
  ASSERT_NE(loss, nullptr);
  ASSERT_EQ(loss->points.size(), 2u);
  EXPECT_EQ(loss->points[1].step, 3);
  EXPECT_EQ(loss->points[1].value, 0.5);
  EXPECT_EQ(loss->points[1].time_ns, 12'500'000'000);
}

TEST(Tfevents, CountsAFileThatEndsInsideARecord) {
  const std::string whole =
      EventRecord(10, 1, "a", 2.5f) + EventRecord(11, 2, "a", 1.5f);
  const auto set =
      ParseTfevents(std::string_view(whole).substr(0, whole.size() - 1), "x");
  ASSERT_TRUE(set.has_value());
  EXPECT_EQ(set->stats.Count("file ends inside a record"), 1);
  EXPECT_EQ(set->Find("a")->points.size(), 1u);
}

TEST(SeriesJson, WritesNaNAsAWordAndMarksDerivedSeries) {
  const base::Json json =
      ToJson(Parse("{\"step\": 1, \"loss\": NaN, \"time\": 1700000000}\n"
                   "{\"step\": 3, \"loss\": 1, \"time\": 1700000004}\n"));
  EXPECT_EQ(json["schema"].AsString(), "stepslack.series/1");
  EXPECT_EQ(json["series"].AsArray()[0]["points"]["value"].AsArray()[0].AsString(),
            "nan");
  const base::Json& seconds = json["series"].AsArray()[1];
  EXPECT_TRUE(seconds["derived"].AsBool());
  EXPECT_EQ(seconds["points"]["value"].AsArray()[0].AsDouble(), 2.0);
}

}  // namespace
}  // namespace stepslack::logs

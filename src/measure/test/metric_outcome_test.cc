#include "../src/metric_outcome.h"

#include <gtest/gtest.h>

#include "stepslack/logs/read_log.h"

namespace stepslack::measure {
namespace {

logs::SeriesSet Log(std::string_view csv) {
  auto log = logs::ParseLog(csv, "made.csv");
  EXPECT_TRUE(log.has_value());
  return log.has_value() ? *std::move(log) : logs::SeriesSet{};
}

// Steps of 60 s from 2023-11-14; the target is met at step 3.
constexpr std::string_view kTimed =
    "step,timestamp,accuracy,global_batch_size\n"
    "1,1700000000,0.5,32\n2,1700000060,0.7,32\n3,1700000120,0.9,32\n";

TEST(MetricOutcome, DerivesMinutesAndSamplesAndSaysSo) {
  const auto target = ParseTarget("accuracy>=0.9");
  ASSERT_TRUE(target.has_value());
  const auto outcome = OutcomeOfLog(Log(kTimed), *target);
  EXPECT_EQ(outcome.status, analyze::RunStatus::kSuccess) << outcome.reason;
  EXPECT_DOUBLE_EQ(outcome.ttt_min.value_or(-1), 2);
  EXPECT_EQ(outcome.global_batch, 32);
  EXPECT_EQ(outcome.samples_to_target, 96);
  EXPECT_NE(outcome.reason.find("derived"), std::string::npos);
}

TEST(MetricOutcome, ATargetThatIsNotMetIsABoundOnTheTime) {
  const auto target = ParseTarget("accuracy >= 0.95");
  ASSERT_TRUE(target.has_value());
  const auto outcome = OutcomeOfLog(Log(kTimed), *target);
  EXPECT_EQ(outcome.status, analyze::RunStatus::kAborted);
  EXPECT_DOUBLE_EQ(outcome.ttt_min.value_or(-1), 2);
  EXPECT_FALSE(outcome.reached());
}

TEST(MetricOutcome, NamesWhatIsMissing) {
  const auto outcome = OutcomeOfLog(Log("step,loss\n1,2.5\n2,2.0\n"), std::nullopt);
  EXPECT_NE(outcome.reason.find("no batch size"), std::string::npos);
  EXPECT_NE(outcome.reason.find("no target"), std::string::npos);
  EXPECT_FALSE(outcome.ttt_min);
}

TEST(MetricOutcome, AClockThatGoesBackwardsGivesNoTime) {
  const auto target = ParseTarget("accuracy>=0.7");
  ASSERT_TRUE(target.has_value());
  const auto outcome = OutcomeOfLog(
      Log("step,timestamp,accuracy\n1,1700000060,0.5\n2,1700000000,0.8\n"), *target);
  EXPECT_NE(outcome.reason.find("backwards"), std::string::npos);
  EXPECT_FALSE(outcome.ttt_min);
}

TEST(MetricOutcome, RefusesATargetWithoutNumber) {
  EXPECT_EQ(ParseTarget("accuracy").error().id, "RUNS-0100");
  EXPECT_EQ(ParseTarget(">=1").error().id, "RUNS-0100");
  EXPECT_EQ(ParseTarget("loss<=nan").error().id, "RUNS-0100");
}

}  // namespace
}  // namespace stepslack::measure

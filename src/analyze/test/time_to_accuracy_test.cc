#include "stepslack/analyze/time_to_accuracy.h"

#include <gtest/gtest.h>

#include <cmath>

namespace stepslack::analyze {
namespace {

record::RunRecord Reached(double before, double at, int64_t samples) {
  record::RunRecord run;
  run.summary.status = "done";
  run.summary.target_reached = true;
  run.summary.seconds_before_target = before;
  run.summary.seconds_to_target = at;
  run.summary.samples_to_target = samples;
  run.summary.train_seconds = 100;
  run.evals.push_back({.eval_seconds = 4});
  run.evals.push_back({.eval_seconds = 6});
  return run;
}

record::RunRecord Censored(double train_seconds) {
  record::RunRecord run;
  run.summary.status = "done";
  run.summary.train_seconds = train_seconds;
  run.summary.samples = 9000;
  return run;
}

TEST(TimeToAccuracy, AllReachedGivesAGeometricMeanOnLogs) {
  const auto a = Reached(20, 25, 3000);
  const auto b = Reached(32, 40, 4000);
  const auto c = Reached(60, 64, 6000);
  const std::vector<LabelledRun> runs = {
      {"seed 1", &a}, {"seed 2", &b}, {"seed 3", &c}};
  const TimeToAccuracy report = ComputeTimeToAccuracy(runs, 0.3, "relative MAE");
  EXPECT_EQ(report.reached, 3);
  EXPECT_NEAR(*report.seconds.value, 40, 1e-9);  // cube root of 25 * 40 * 64
  // Logs are equally spaced by ln 1.6: s = ln 1.6, t(2) = 4.302653.
  EXPECT_NEAR(*report.seconds.high,
              40 * std::exp(4.302653 * std::log(1.6) / std::sqrt(3.0)), 1e-3);
  EXPECT_NEAR(*report.seconds_before.value, std::cbrt(20.0 * 32 * 60), 1e-9);
  EXPECT_NEAR(*report.evaluation_share.value, 0.1, 1e-12);
  EXPECT_DOUBLE_EQ(*report.success_share.value, 1);
  // Clopper-Pearson, 3 of 3: (alpha / 2)^(1/3).
  EXPECT_NEAR(*report.success_share.low, std::cbrt(0.025), 1e-9);
  EXPECT_EQ(report.runs[1].seconds_low, 32);
  EXPECT_EQ(report.runs[1].seconds_high, 40);
}

TEST(TimeToAccuracy, ACensoredRunCountsAsStillOnItsWay) {
  const auto a = Reached(20, 25, 3000);
  const auto b = Censored(30);
  const auto c = Reached(60, 64, 6000);
  const std::vector<LabelledRun> runs = {
      {"seed 1", &a}, {"seed 2", &b}, {"seed 3", &c}};
  const TimeToAccuracy report = ComputeTimeToAccuracy(runs, 0.3, "relative MAE");
  EXPECT_EQ(report.reached, 2);
  EXPECT_FALSE(report.runs[1].reached);
  EXPECT_EQ(report.runs[1].seconds_low, 30);
  ASSERT_EQ(report.curve.steps.size(), 2u);
  EXPECT_NEAR(report.curve.steps[0].survival, 2.0 / 3, 1e-12);
  EXPECT_EQ(report.curve.steps[1].at_risk, 1);
  EXPECT_NEAR(*report.seconds.value, 64, 1e-9);  // median: survival falls to 0 there
  EXPECT_NE(report.seconds.method.find("2 of 3 runs"), std::string::npos);
}

TEST(TimeToAccuracy, NobodyReachedGivesNoTimeButAShare) {
  const auto a = Censored(30);
  const std::vector<LabelledRun> runs = {{"seed 1", &a}};
  const TimeToAccuracy report = ComputeTimeToAccuracy(runs, 0.3, "relative MAE");
  EXPECT_FALSE(report.seconds.value.has_value());
  EXPECT_DOUBLE_EQ(*report.success_share.value, 0);
  EXPECT_NEAR(*report.success_share.high, 0.975, 1e-9);
}

TEST(TimeToAccuracy, NoRunsAndATargetMetAtOnceAreHandled) {
  const TimeToAccuracy none = ComputeTimeToAccuracy({}, 0.3, "relative MAE");
  EXPECT_FALSE(none.seconds.value.has_value());
  EXPECT_EQ(none.seconds.method, "no runs");
  const auto a = Reached(0, 5, 100);
  const auto b = Reached(0, 5, 100);
  const std::vector<LabelledRun> runs = {{"seed 1", &a}, {"seed 2", &b}};
  const TimeToAccuracy report = ComputeTimeToAccuracy(runs, 0.3, "relative MAE");
  EXPECT_DOUBLE_EQ(*report.seconds_before.value, 0);
  EXPECT_NEAR(*report.seconds.value, 5, 1e-12);
  EXPECT_EQ(ToJson(report)["runs"].AsArray()[0]["seconds_high"].AsDouble(), 5);
}

}  // namespace
}  // namespace stepslack::analyze

#include "stepslack/analyze/projection.h"

#include <gtest/gtest.h>

#include <cmath>

namespace stepslack::analyze {
namespace {

// step = 0.01 b + 0.002 log2 N, samples = 1000 (1 + B / 512), both exact.
ScalePoint Exact(int64_t n, double batch) {
  const double workers = static_cast<double>(n);
  return {n, batch, 0.01 * batch / workers + 0.002 * std::log2(workers),
          1000 * (1 + batch / 512), 0};
}

TEST(NonNegativeLeastSquares, DropsTheColumnThatWouldBeNegative) {
  // y = 2 x0 - x1 without the bound; with it x0 alone: (2 + 1 + 1) / 3... by hand:
  // rows (1,0)->2, (1,1)->1, (0,1)->-1: c0 = (2 + 1) / 2.
  const auto c =
      NonNegativeLeastSquares({{1, 0}, {1, 1}, {0, 1}}, std::vector<double>{2, 1, -1},
                              std::vector<double>{1, 1, 1});
  ASSERT_EQ(c.size(), 2u);
  EXPECT_NEAR(c[0], 1.5, 1e-12);
  EXPECT_EQ(c[1], 0);
}

TEST(ScaleModel, EveryFormAgreesWhenCommunicationIsFree) {
  std::vector<ScalePoint> points;
  for (const int64_t n : {2, 4, 8}) {
    points.push_back({n, 64, 0.01 * 64 / static_cast<double>(n), 0, 0});
  }
  const auto model = ScaleModel::Fit(points);
  ASSERT_TRUE(model.has_value());
  const Interval80 step = model->StepSeconds(16, 128);
  EXPECT_NEAR(step.value, 0.08, 1e-9);
  EXPECT_NEAR(model->AmdahlThroughput(16), 1600, 1e-3);
  // One doubling past: deviation sqrt(0.03^2 + 0.02^2), 1.6 of them.
  EXPECT_NEAR(std::log(step.high / step.value), 1.6 * std::hypot(0.03, 0.02), 1e-6);
}

TEST(ScaleModel, ALogarithmicLawIsMetWithinTheSpreadOfTheForms) {
  const std::vector<ScalePoint> points = {Exact(4, 256), Exact(8, 256), Exact(16, 512),
                                          Exact(32, 512)};
  const auto model = ScaleModel::Fit(points);
  ASSERT_TRUE(model.has_value());
  const auto& log_form = model->forms()[1];
  EXPECT_NEAR(log_form.coefficients[0], 0.01, 1e-9);
  EXPECT_NEAR(log_form.coefficients[1], 0.002, 1e-9);
  const Interval80 step = model->StepSeconds(64, 512);
  EXPECT_NEAR(step.value / Exact(64, 512).step_seconds, 1, 0.03);
}

TEST(ScaleModel, RefusesOneScaleAndValuesThatAreNotPositive) {
  const std::vector<ScalePoint> one = {Exact(4, 64), Exact(4, 128)};
  EXPECT_EQ(ScaleModel::Fit(one).error().id, "PROJ-0001");
  std::vector<ScalePoint> bad = {Exact(4, 64), Exact(8, 64)};
  bad[1].step_seconds = NAN;
  EXPECT_EQ(ScaleModel::Fit(bad).error().id, "PROJ-0002");
}

TEST(FitSamples, FindsTheCriticalBatchThatMadeTheSamples) {
  const std::vector<ScalePoint> points = {Exact(4, 64), Exact(8, 256), Exact(16, 1024)};
  const auto model = FitSamples(points);
  ASSERT_TRUE(model && model->critical_batch);
  EXPECT_NEAR(*model->critical_batch, 512, 1e-6);
  EXPECT_NEAR(model->Samples(2048), 5000, 1e-6);
}

TEST(FitSamples, GrowsAsTheCubeRootWhenTheBatchDidNotVary) {
  const std::vector<ScalePoint> points = {Exact(4, 512), Exact(8, 512)};
  const auto model = FitSamples(points);
  ASSERT_TRUE(model.has_value());
  EXPECT_FALSE(model->critical_batch);
  EXPECT_NE(model->reason.find("does not vary"), std::string::npos);
  EXPECT_NEAR(model->Samples(4096), 4000, 1e-9);
  EXPECT_NEAR(model->Samples(256), 2000, 1e-9);
}

TEST(Project, GivesTimeToTargetFromSamplesAndThroughput) {
  ScaleFamily family;
  family.points = {Exact(4, 256), Exact(8, 512), Exact(16, 512)};
  ProjectOptions options;
  options.world_sizes = {16, 32};
  options.batches = {512};
  options.watts = 300;
  const ProjectionReport report = Project({family}, options);
  const auto& predictions = report.families.at(0).predictions;
  ASSERT_EQ(predictions.size(), 2u);
  EXPECT_FALSE(predictions[0].step_seconds.extrapolated);
  EXPECT_TRUE(predictions[1].step_seconds.extrapolated);
  const Prediction& p = predictions[1];
  EXPECT_NEAR(p.throughput.range.value, 512 / p.step_seconds.range.value, 1e-9);
  ASSERT_TRUE(p.ttt_min && p.energy_kwh);
  EXPECT_NEAR(p.ttt_min->range.value, 2000 / p.throughput.range.value / 60, 1e-9);
  EXPECT_NEAR(*p.energy_kwh, 32 * 0.3 * p.ttt_min->range.value / 60, 1e-9);
}

TEST(Project,
     WithoutABatchTheThroughputIsAmdahlsAndTheIntervalSpansStrongAndWeakScaling) {
  ScaleFamily family;
  family.points = {Exact(4, 256), Exact(8, 256)};
  ProjectOptions options;
  options.world_sizes = {128};
  const Prediction p = Project({family}, options).families[0].predictions[0];
  EXPECT_TRUE(p.batch_assumed);
  EXPECT_NE(p.batch_basis.find("Amdahl"), std::string::npos);
  const auto model = ScaleModel::Fit(family.points);
  EXPECT_NEAR(p.throughput.range.value / model->AmdahlThroughput(128), 1, 1e-9);
  EXPECT_DOUBLE_EQ(p.throughput.range.low, 256 / model->StepSeconds(128, 256).high);
  EXPECT_DOUBLE_EQ(p.throughput.range.high, 4096 / model->StepSeconds(128, 4096).low);
  ASSERT_TRUE(p.ttt_min);
  EXPECT_LT(p.ttt_min->range.low, p.ttt_min->range.value);
  EXPECT_GT(p.ttt_min->range.high, p.ttt_min->range.value);
}

TEST(ScaleModel, ADividedSampleKeepsThePerRankBatch) {
  const std::vector<ScalePoint> points = {Exact(8, 8), Exact(64, 8)};
  const auto model = ScaleModel::Fit(points);
  ASSERT_TRUE(model.has_value());
  EXPECT_NEAR(model->BatchAssumedAt(1024).value, 128, 1e-9);
  EXPECT_NEAR(model->BatchAssumedAt(1024).low, 8, 1e-9);
}

TEST(ScaleModel, BetweenTwoScalesTheBatchLiesBetweenTheirs) {
  const std::vector<ScalePoint> points = {Exact(4, 64), Exact(16, 256)};
  const auto model = ScaleModel::Fit(points);
  ASSERT_TRUE(model.has_value());
  EXPECT_NEAR(model->BatchAssumedAt(8).value, 128, 1e-9);
  EXPECT_NEAR(model->BatchAssumedAt(2).low, 32, 1e-9);  // weak scaling downwards
  EXPECT_NEAR(model->BatchAssumedAt(2).high, 64, 1e-9);
}

TEST(YoungDaly, MatchesTheClosedFormByHand) {
  // M = 5000 s, delta = 100 s: tau = sqrt(2 * 100 * 5000) = 1000 s.
  const FailureLoss loss = YoungDaly(5000, 100, 0);
  EXPECT_DOUBLE_EQ(loss.interval_seconds, 1000);
  EXPECT_NEAR(loss.slowdown, 5 * (std::exp(0.22) - 1), 1e-12);
}

TEST(FamiliesOfTable, DividesRowsByConfigurationAndCountsTheUnusable) {
  std::vector<std::string> left_out;
  const auto families = FamiliesOfTable(
      "Nodes,PP,GBS,Sec/it,Notes\n1,1,64,9,a\n2,1,64,5,b\n1,2,64,8,\nx,1,64,1,\n",
      "t.csv", 8, left_out);
  ASSERT_TRUE(families.has_value());
  ASSERT_EQ(families->size(), 2u);
  EXPECT_EQ((*families)[0].name, "PP=1");
  EXPECT_EQ((*families)[0].points[1].world_size, 16);
  EXPECT_EQ((*families)[0].points[1].step_seconds, 5);
  ASSERT_EQ(left_out.size(), 1u);
  EXPECT_NE(left_out[0].find("1 rows"), std::string::npos);
}

TEST(FamiliesOfTable, SaysWhichColumnIsMissing) {
  std::vector<std::string> left_out;
  const auto families = FamiliesOfTable("gpus,gbs\n1,2\n", "t.csv", 8, left_out);
  ASSERT_FALSE(families.has_value());
  EXPECT_EQ(families.error().id, "PROJ-0003");
}

}  // namespace
}  // namespace stepslack::analyze

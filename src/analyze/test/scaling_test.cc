#include "stepslack/analyze/scaling.h"

#include <gtest/gtest.h>

#include <cmath>

#include "made_runs.h"

namespace stepslack::analyze {
namespace {

constexpr StepShape kAlone = {.samples = 16,
                              .step = 100,
                              .data = 10,
                              .forward = 30,
                              .backward = 40,
                              .comm_wait = 0,
                              .optimizer = 10};
constexpr StepShape kShared = {.samples = 8,
                               .step = 60,
                               .data = 5,
                               .forward = 16,
                               .backward = 22,
                               .comm_wait = 8,
                               .optimizer = 6};

StepShape Slower(StepShape shape, double factor) {
  for (double* part : {&shape.step, &shape.data, &shape.forward, &shape.backward,
                       &shape.comm_wait, &shape.optimizer}) {
    *part *= factor;
  }
  return shape;
}

// Runs kept alive beside the groups that point to them.
struct Bench {
  std::vector<record::RunRecord> alone;
  std::vector<record::RunRecord> two;
  std::vector<ScalingGroup> groups;

  void Point() {
    groups = {{.world_size = 1, .per_rank_batch = 16, .rule = ScalingRule::kStrong},
              {.world_size = 2, .per_rank_batch = 8, .rule = ScalingRule::kStrong}};
    for (const auto& run : alone) groups[0].runs.push_back(&run);
    for (const auto& run : two) groups[1].runs.push_back(&run);
  }
};

// Three interleaved repeats; the machine itself drifts, which pairs cancel.
Bench DriftingRepeats() {
  Bench bench;
  for (const double drift : {1.0, 1.25, 1.5}) {
    bench.alone.push_back(MadeRun({Slower(kAlone, drift)}, 40));
    bench.two.push_back(MadeRun({Slower(kShared, drift), Slower(kShared, drift)}, 40));
  }
  bench.Point();
  return bench;
}

TEST(Scaling, StrongEfficiencyAndItsLossByHand) {
  const Bench bench = DriftingRepeats();
  const auto report = ComputeScaling(bench.groups);
  ASSERT_TRUE(report.has_value());
  ASSERT_EQ(report->points.size(), 2u);
  const ScalingPoint& one = report->points[0];
  EXPECT_NEAR(one.throughputs[0], 160, 1e-9);
  EXPECT_DOUBLE_EQ(*one.hardware.value, 1);
  const ScalingPoint& two = report->points[1];
  EXPECT_EQ(two.global_batch, 16);
  EXPECT_NEAR(two.throughputs[0], 16 / 0.060, 1e-6);
  EXPECT_NEAR(*two.speedup.value, 10.0 / 6, 1e-9);
  EXPECT_NEAR(*two.hardware.value, 10.0 / 12, 1e-9);
  EXPECT_NEAR(*two.hardware.low, 10.0 / 12, 1e-9);  // drift cancels in every pair
  EXPECT_EQ(two.hardware.n, 3);
  EXPECT_EQ(two.hardware.n_of, "paired repeats");
  // Rank-seconds per sample 6.25 -> 7.5 ms: compute 5 -> 5.5, exposed 0 -> 1, data
  // 0.625 -> 0.625, the rest 0.625 -> 0.375.
  EXPECT_NEAR(*two.loss.total.value, 100 * 1.25 / 7.5, 1e-6);
  EXPECT_NEAR(*two.loss.compute.value, 100 * 0.5 / 7.5, 1e-6);
  EXPECT_NEAR(*two.loss.exposed_comm.value, 100 * 1.0 / 7.5, 1e-6);
  EXPECT_NEAR(*two.loss.data.value, 0, 1e-6);
  EXPECT_NEAR(*two.loss.other.value, 100 * -0.25 / 7.5, 1e-6);
}

TEST(Scaling, EqualGlobalBatchWithEqualLossesMeansStatisticalEfficiencyOne) {
  Bench bench = DriftingRepeats();
  const auto report = ComputeScaling(bench.groups);
  const ScalingPoint& two = report->points[1];
  EXPECT_DOUBLE_EQ(*two.statistical.value, 1);
  EXPECT_DOUBLE_EQ(*two.max_relative_loss_difference, 0);
  EXPECT_EQ(two.loss_steps_compared, 3 * 8);  // the first steps of every pair
  EXPECT_NEAR(*two.efficiency.value, 10.0 / 12, 1e-9);

  bench.two[1].steps[0][30].loss *= 1.5;  // late: rounding, amplified by training
  EXPECT_DOUBLE_EQ(
      *ComputeScaling(bench.groups)->points[1].max_relative_loss_difference, 0);
  bench.two[1].steps[0][5].loss *= 1.5;
  const auto differing = ComputeScaling(bench.groups);
  const ScalingPoint& point = differing->points[1];
  EXPECT_NEAR(*point.max_relative_loss_difference, 0.5, 1e-12);
  EXPECT_FALSE(point.statistical.value.has_value());
  EXPECT_FALSE(point.efficiency.value.has_value());
  EXPECT_TRUE(point.hardware.value.has_value());
}

TEST(Scaling, WithTargetsStatisticalEfficiencyIsTheRatioOfSamples) {
  Bench bench = DriftingRepeats();
  for (size_t i = 0; i < 3; ++i) {
    bench.alone[i].summary.target_reached = true;
    bench.alone[i].summary.samples_to_target = 4000;
    bench.two[i].summary.target_reached = true;
    bench.two[i].summary.samples_to_target = 5000;
  }
  auto report = ComputeScaling(bench.groups);
  EXPECT_NEAR(*report->points[1].statistical.value, 0.8, 1e-12);
  EXPECT_NEAR(*report->points[1].efficiency.value, 0.8 * 10 / 12, 1e-9);
  bench.two[2].summary.target_reached = false;
  report = ComputeScaling(bench.groups);
  EXPECT_FALSE(report->points[1].statistical.value.has_value());
  EXPECT_NE(report->points[1].statistical.method.find("2 of 3"), std::string::npos);
}

TEST(Scaling, WeakScalingComparesEqualBatchesPerRank) {
  const record::RunRecord alone = MadeRun({kAlone}, 20);
  const StepShape shape = {.samples = 16,
                           .step = 125,
                           .data = 10,
                           .forward = 30,
                           .backward = 40,
                           .comm_wait = 25,
                           .optimizer = 10};
  const record::RunRecord two = MadeRun({shape, shape}, 20);
  const std::vector<ScalingGroup> groups = {{.world_size = 2,
                                             .per_rank_batch = 16,
                                             .rule = ScalingRule::kWeak,
                                             .runs = {&two}},
                                            {.world_size = 1,
                                             .per_rank_batch = 16,
                                             .rule = ScalingRule::kStrong,
                                             .runs = {&alone}}};
  const auto report = ComputeScaling(groups);
  ASSERT_TRUE(report.has_value());
  const ScalingPoint& weak = report->points[1];
  EXPECT_EQ(weak.rule, ScalingRule::kWeak);
  EXPECT_EQ(weak.global_batch, 32);
  EXPECT_NEAR(*weak.hardware.value, 0.8, 1e-9);
  EXPECT_FALSE(weak.hardware.low.has_value());  // one pair
  EXPECT_NEAR(*weak.loss.exposed_comm.value, 20, 1e-6);
  EXPECT_FALSE(weak.statistical.value.has_value());  // no target, other global batch
}

TEST(Scaling, TheRunWithoutCommunicationSeparatesTheNetworkFromTheRest) {
  Bench bench = DriftingRepeats();
  StepShape silent = kShared;
  silent.step = 50;
  silent.comm_wait = 0;
  std::vector<record::RunRecord> runs;
  for (const double drift : {1.0, 1.25, 1.5}) {
    runs.push_back(MadeRun({Slower(silent, drift), Slower(silent, drift)}, 40));
  }
  bench.groups.push_back({.world_size = 2,
                          .per_rank_batch = 8,
                          .rule = ScalingRule::kStrong,
                          .synchronise = false,
                          .runs = {&runs[0], &runs[1], &runs[2]}});
  const auto report = ComputeScaling(bench.groups);
  ASSERT_EQ(report->points.size(), 2u);  // the yardstick is no point of its own
  EXPECT_NEAR(*report->points[1].versus_no_comm.value, 50.0 / 60, 1e-9);
  EXPECT_FALSE(report->points[0].versus_no_comm.value.has_value());
}

TEST(Scaling, AStragglerShowsInLoadBalanceAndIsNamed) {
  StepShape late = kShared;
  late.backward = 32;
  late.comm_wait = 0;
  const record::RunRecord two = MadeRun({kShared, late}, 20);
  const std::vector<ScalingGroup> groups = {
      {.world_size = 2, .per_rank_batch = 8, .runs = {&two}}};
  const auto report = ComputeScaling(groups);
  const ScalingPoint& point = report->points[0];
  EXPECT_EQ(point.slowest_rank, 1);
  EXPECT_NEAR(*point.load_balance.value, 49.0 / 54, 1e-12);
  EXPECT_NEAR(point.rank_compute_seconds[1], 0.054, 1e-12);
  EXPECT_FALSE(point.hardware.value.has_value());  // no baseline
  EXPECT_EQ(report->remarks.size(), 1u);
}

TEST(Scaling, UnequalRepeatsAreNotPaired) {
  Bench bench = DriftingRepeats();
  bench.groups[0].runs.pop_back();
  const auto report = ComputeScaling(bench.groups);
  EXPECT_EQ(report->points[1].hardware.n, 5);
  EXPECT_NE(report->points[1].hardware.method.find("not paired"), std::string::npos);
}

TEST(Scaling, UnusableRunsAreNamedAndTheirPairsLeftOut) {
  Bench bench = DriftingRepeats();
  bench.two[1].steps[1].clear();
  const auto report = ComputeScaling(bench.groups);
  EXPECT_EQ(report->points[1].hardware.n, 2);
  ASSERT_EQ(report->remarks.size(), 1u);
  EXPECT_NE(report->remarks[0].find("rank 1 left no step records"), std::string::npos);
}

TEST(Scaling, BadInputIsRefusedWithAnId) {
  const auto none = ComputeScaling({});
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error().id, "ANL-0001");
  const record::RunRecord run = MadeRun({kAlone}, 2);
  const std::vector<ScalingGroup> zero = {
      {.world_size = 0, .per_rank_batch = 8, .runs = {&run}}};
  const auto refused = ComputeScaling(zero);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().id, "ANL-0002");
}

TEST(Scaling, EmptyAndZeroLengthRunsGiveRemarksNotNumbers) {
  record::RunRecord empty = MadeRun({kAlone}, 0);
  record::RunRecord zero = MadeRun({{.samples = 16, .step = 0}}, 5);
  const std::vector<ScalingGroup> groups = {
      {.world_size = 1, .per_rank_batch = 16, .runs = {&empty, &zero}}};
  const auto report = ComputeScaling(groups);
  ASSERT_TRUE(report.has_value());
  EXPECT_FALSE(report->points[0].throughput.value.has_value());
  EXPECT_EQ(report->points[0].repeats, 0);
  EXPECT_GE(report->remarks.size(), 2u);
  EXPECT_EQ(ToJson(*report)["schema"].AsString(), "stepslack.scaling/1");
}

}  // namespace
}  // namespace stepslack::analyze

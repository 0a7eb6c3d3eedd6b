#include "stepslack/analyze/run_sets.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace stepslack::analyze {
namespace {

// A run of another source than MLPerf: nothing but the fields that sets are made of.
RunOutcome Took(int64_t world_size, double minutes, int64_t samples = 1000) {
  RunOutcome run;
  run.source = "made";
  run.format = "own";
  run.benchmark = "maps";
  run.system = "box" + std::to_string(world_size);
  run.submitter = "Acme";
  run.world_size = world_size;
  run.status = RunStatus::kSuccess;
  run.ttt_min = run.watched_min = minutes;
  run.samples_to_target = samples;
  run.unit = "samples";
  run.global_batch = 32;
  return run;
}

RunOutcome Failed(RunOutcome run, RunStatus status = RunStatus::kAborted) {
  run.status = status;
  if (status == RunStatus::kTruncated) run.ttt_min.reset();
  return run;
}

TEST(RunSets, OlympicMeanDropsOneRunAtEachEnd) {
  const RunSetReport report =
      GroupRuns({Took(1, 8), Took(1, 1), Took(1, 3), Took(1, 4)});
  ASSERT_EQ(report.sets.size(), 1u);
  const RunSet& set = report.sets[0];
  EXPECT_EQ(set.name, "box1/maps");
  EXPECT_DOUBLE_EQ(set.olympic_min.value(), 3.5);
  EXPECT_DOUBLE_EQ(set.mean_min.value(), 4);
  EXPECT_EQ(set.time_basis, "olympic mean");
  EXPECT_DOUBLE_EQ(set.throughput.value(), 1000 / (60 * 3.5));
  // (8 * 1 * 3 * 4)^(1/4)
  EXPECT_NEAR(set.ttt.value.value(), std::pow(96, 0.25), 1e-12);
  EXPECT_DOUBLE_EQ(set.success_share.value.value(), 1);
}

TEST(RunSets, RunThatFailedCountsAsTheSlowest) {
  // Its 1 minute would be the fastest.
  const RunSetReport report =
      GroupRuns({Failed(Took(1, 1)), Took(1, 2), Took(1, 4), Took(1, 6), Took(1, 5)});
  const RunSet& set = report.sets[0];
  EXPECT_EQ(set.successes, 4);
  EXPECT_DOUBLE_EQ(set.olympic_min.value(), 5);  // of 4, 5, 6
  EXPECT_DOUBLE_EQ(set.success_share.value.value(), 0.8);
  EXPECT_LT(set.success_share.low.value(), 0.8);
}

TEST(RunSets, MoreFailuresThanDropsLeaveNoScore) {
  const RunSetReport report =
      GroupRuns({Failed(Took(1, 1)), Failed(Took(1, 1)), Took(1, 4), Took(1, 6)});
  const RunSet& set = report.sets[0];
  EXPECT_FALSE(set.olympic_min.has_value());
  EXPECT_EQ(set.no_olympic, "2 runs did not converge; the score allows 1");
  EXPECT_FALSE(set.throughput.has_value());
  EXPECT_EQ(set.no_scaling,
            "the set has no time: 2 runs did not converge; the score allows 1");
}

TEST(RunSets, Unet3dDropsFourAtEachEnd) {
  std::vector<RunOutcome> runs;
  for (int i = 1; i <= 10; ++i) {
    runs.push_back(Took(1, i * i));
    runs.back().benchmark = "unet3d";
  }
  const RunSetReport report = GroupRuns(runs);
  EXPECT_DOUBLE_EQ(report.sets[0].olympic_min.value(), (25 + 36) / 2.0);
}

TEST(RunSets, SetOfTwoScalesByItsMean) {
  const RunSetReport report =
      GroupRuns({Took(1, 10), Took(1, 10), Took(4, 4, 2000), Took(4, 6, 2000)});
  ASSERT_EQ(report.sets.size(), 2u);
  const RunSet& set = report.sets[1];
  EXPECT_EQ(set.time_basis, "mean");
  EXPECT_EQ(set.no_olympic, "2 runs; the score needs 3");
  EXPECT_EQ(set.baseline, "box1/maps");
  EXPECT_DOUBLE_EQ(set.speedup.value(), 2);
  EXPECT_DOUBLE_EQ(set.E.value(), 0.5);   // twice as fast on four times as many
  EXPECT_DOUBLE_EQ(set.Es.value(), 0.5);  // with twice the samples
  EXPECT_DOUBLE_EQ(set.Eh.value(), 1);
  // cv of {4, 6}: sqrt(2) / 5; of {10, 10}: 0.
  EXPECT_DOUBLE_EQ(set.se_log_E.value(), std::sqrt(2.0 / 25 / 2));
  EXPECT_DOUBLE_EQ(report.sets[0].E.value(), 1);
  EXPECT_DOUBLE_EQ(report.sets[0].se_log_E.value(), 0);
}

TEST(RunSets, DifferentBasesAreNotCompared) {
  const RunSetReport report =
      GroupRuns({Took(1, 10), Took(1, 10), Took(4, 4), Took(4, 6), Took(4, 5)});
  EXPECT_FALSE(report.sets[1].E.has_value());
  EXPECT_EQ(report.sets[1].no_scaling,
            "its time is the olympic mean, that of the baseline the mean");
}

TEST(RunSets, UnitsThatDifferLeaveTheEfficiencyWhole) {
  std::vector<RunOutcome> runs = {Took(1, 10), Took(2, 6)};
  runs[1].unit = "tokens";
  const RunSetReport report = GroupRuns(runs);
  EXPECT_DOUBLE_EQ(report.sets[1].E.value(), 10.0 / 12);
  EXPECT_FALSE(report.sets[1].Es.has_value());
  EXPECT_EQ(report.sets[1].no_scaling,
            "E is not split: the sets count tokens and samples");
}

TEST(RunSets, AnotherSubmitterIsAnotherCurve) {
  std::vector<RunOutcome> runs = {Took(1, 10), Took(8, 5)};
  runs[1].submitter = "Bolt";
  const RunSetReport report = GroupRuns(runs);
  EXPECT_DOUBLE_EQ(report.sets[1].E.value(), 1);
  EXPECT_EQ(report.sets[1].baseline, "box8/maps");
}

TEST(RunSets, CutLogWithoutBatchStaysWithItsSet) {
  RunOutcome cut = Failed(Took(1, 0.1), RunStatus::kTruncated);
  cut.global_batch.reset();
  const RunSetReport report = GroupRuns({Took(1, 2), cut, Took(1, 3)});
  ASSERT_EQ(report.sets.size(), 1u);
  EXPECT_EQ(report.sets[0].runs, 3);
  EXPECT_EQ(report.sets[0].successes, 2);
  EXPECT_EQ(report.sets[0].global_batch, 32);
}

TEST(RunSets, BatchesOfOneSystemAreSetsWithNamesOfTheirOwn) {
  std::vector<RunOutcome> runs = {Took(1, 2), Took(1, 3)};
  runs[1].global_batch = 64;
  const RunSetReport report = GroupRuns(runs);
  ASSERT_EQ(report.sets.size(), 2u);
  EXPECT_EQ(report.sets[0].name, "box1/maps, Acme, 1 workers, batch 32");
  EXPECT_EQ(report.sets[1].name, "box1/maps, Acme, 1 workers, batch 64");
}

// Four runs, one aborted at 1 before any arrival: at its stop S is 2/3, 1/3, 0 at
// 2, 3, 4; if it never arrived 3/4, 1/2, 1/4.
TEST(RunSets, QuantilesFollowTheCensoring) {
  const RunSetReport report =
      GroupRuns({Failed(Took(1, 1)), Took(1, 2), Took(1, 3), Took(1, 4)});
  const RunQuantiles& quantiles = report.sets[0].quantiles;
  EXPECT_DOUBLE_EQ(quantiles.q25.value(), 2);
  EXPECT_DOUBLE_EQ(quantiles.median_censor_at_stop.value(), 3);
  EXPECT_DOUBLE_EQ(quantiles.median_censor_at_inf.value(), 3);
  EXPECT_DOUBLE_EQ(quantiles.q75.value(), 4);
  EXPECT_DOUBLE_EQ(report.sets[0].ttt.value.value(), 3);
}

TEST(RunSets, CutLogIsAtRiskToTheEnd) {
  const std::vector<RunOutcome> runs = {Failed(Took(1, 0.1), RunStatus::kTruncated),
                                        Took(1, 2), Took(1, 3)};
  const auto curve = stats::KaplanMeier(Durations(runs, Censoring::kAtStop));
  ASSERT_EQ(curve.steps.size(), 2u);
  EXPECT_NEAR(curve.steps[0].survival, 2.0 / 3, 1e-12);
  EXPECT_NEAR(curve.steps[1].survival, 1.0 / 3, 1e-12);
  EXPECT_FALSE(KaplanMeierQuantile(curve, 0.75).has_value());
  EXPECT_FALSE(KaplanMeierQuantile(curve, 1).has_value());
}

TEST(RunSets, SetWhereNothingArrivedHasNoTime) {
  const RunSetReport report = GroupRuns({Failed(Took(1, 1)), Failed(Took(1, 2))});
  EXPECT_FALSE(report.sets[0].ttt.value.has_value());
  EXPECT_DOUBLE_EQ(report.sets[0].success_share.value.value(), 0);
  EXPECT_FALSE(report.sets[0].E.has_value());
  EXPECT_TRUE(GroupRuns({}).sets.empty());
}

TEST(RunSets, JsonHasTheNamedKeysAndNullsWhatIsAbsent) {
  RunOutcome run = Took(1, 2);
  run.world_size.reset();
  run.world_size_reason = "not said";
  const base::Json json = ToJson(GroupRuns({run}));
  const base::Json& first = json["runs"].AsArray().at(0);
  EXPECT_EQ(first["status"].AsString(), "success");
  EXPECT_DOUBLE_EQ(first["ttt_min"].AsDouble(), 2);
  EXPECT_TRUE(first.Has("world_size") && first["world_size"].is_null());
  EXPECT_EQ(first["reason"].AsString(), "not said");
  const base::Json& set = json["sets"].AsArray().at(0);
  EXPECT_DOUBLE_EQ(set["ttt"]["value"].AsDouble(), 2);
  EXPECT_DOUBLE_EQ(set["success_share"].AsDouble(), 1);
  for (const char* key : {"olympic_min", "E", "Es", "Eh", "se_log_E"}) {
    EXPECT_TRUE(set.Has(key) && set[key].is_null()) << key;
  }
}

}  // namespace
}  // namespace stepslack::analyze

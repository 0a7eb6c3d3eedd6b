#include "stepslack/analyze/what_if.h"

#include <gtest/gtest.h>

#include "made_op_trace.h"

namespace stepslack::analyze {
namespace {

base::Result<WhatIf> Compute(const std::string& csv, std::string_view job = "") {
  const auto trace = trace::ParseOpTrace(csv, job, "made");
  EXPECT_TRUE(trace.has_value());
  return ComputeWhatIf(*trace);
}

base::Result<WhatIf> Compute(const MadeOpTrace& made, std::string_view job = "") {
  return Compute(made.Csv(), job);
}

constexpr double kMs = 1e6;

TEST(WhatIf, ALateDataParallelRankCarriesTheWholeSlowdown) {
  // Rank 1 is late by 100: 320 actual. Ideal: forward 150, backward 100, transfer 10,
  // optimizer 10: 270. Only rank 1 actual: 320; only rank 0: 270 (rank 1 bounds it).
  const auto result = Compute(MadeOpTrace(1).DataParallelStep(7, 100));
  ASSERT_TRUE(result.has_value());
  EXPECT_DOUBLE_EQ(result->measured_step_ns, 320 * kMs);
  EXPECT_DOUBLE_EQ(result->actual_step_ns, 320 * kMs);
  EXPECT_DOUBLE_EQ(result->ideal_step_ns, 270 * kMs);
  EXPECT_DOUBLE_EQ(result->slowdown, 320.0 / 270);
  EXPECT_DOUBLE_EQ(result->launch_slowdown, 1);
  ASSERT_EQ(result->by_dp_rank.size(), 2u);
  EXPECT_EQ(result->by_dp_rank[0].id, 1);
  EXPECT_DOUBLE_EQ(result->by_dp_rank[0].slowdown, 320.0 / 270);
  EXPECT_DOUBLE_EQ(result->by_dp_rank[1].slowdown, 1);
  EXPECT_EQ(result->slowest_ranks, (std::vector<int32_t>{1}));
  ASSERT_TRUE(result->slowest_workers.has_value());
  EXPECT_DOUBLE_EQ(result->slowest_workers->without_step_ns, 270 * kMs);
  EXPECT_DOUBLE_EQ(result->slowest_workers->share, 1);
  EXPECT_DOUBLE_EQ(result->slowest_workers->alone, 1);
  EXPECT_FALSE(result->last_stage.has_value());
  EXPECT_EQ(result->no_last_stage, "there is one pipeline stage only");
}

TEST(WhatIf, TheOperationThatIsLateIsNamedFirst) {
  const auto result = Compute(MadeOpTrace(1).DataParallelStep(0, 100));
  ASSERT_TRUE(result.has_value());
  ASSERT_EQ(result->by_op.size(), 4u);
  EXPECT_EQ(result->by_op[0].op, "forward-compute");
  EXPECT_DOUBLE_EQ(result->by_op[0].slowdown, 320.0 / 270);
  for (size_t i = 1; i < 4; ++i) EXPECT_DOUBLE_EQ(result->by_op[i].slowdown, 1);
}

TEST(WhatIf, ALongLastStageIsFoundByItsShare) {
  // Actual 210, ideal (forward 20, backward 40) 180; last stage alone 240, first alone
  // 150, so the last stage's share is (210 - 150) / 30.
  const auto result = Compute(MadeOpTrace(2).PipelineStep(3));
  ASSERT_TRUE(result.has_value());
  EXPECT_DOUBLE_EQ(result->actual_step_ns, 210 * kMs);
  EXPECT_DOUBLE_EQ(result->ideal_step_ns, 180 * kMs);
  ASSERT_EQ(result->by_stage.size(), 2u);
  EXPECT_EQ(result->by_stage[0].id, 1);
  EXPECT_DOUBLE_EQ(result->by_stage[0].slowdown, 240.0 / 180);
  EXPECT_DOUBLE_EQ(result->by_stage[1].slowdown, 150.0 / 180);
  ASSERT_TRUE(result->last_stage.has_value());
  EXPECT_DOUBLE_EQ(result->last_stage->share, 2);
  EXPECT_DOUBLE_EQ(result->last_stage->alone, 2);
  // One data-parallel rank: its slowdown is S, so every worker has the smaller of both.
  ASSERT_EQ(result->by_rank.size(), 2u);
  EXPECT_EQ(result->by_rank[0].rank, 1);
  EXPECT_DOUBLE_EQ(result->by_rank[0].slowdown, 210.0 / 180);
}

TEST(WhatIf, GapsBeforeOperationsAreCountedApart) {
  // The optimizer starts 32 late on both ranks: measured 352, replayed 320.
  MadeOpTrace made(1);
  for (const int d : {0, 1}) {
    made.Op(0, d, 0, "forward-compute", 0, 100 + 100 * d);
    made.Op(0, d, 0, "backward-compute", 100 + 100 * d, 100);
    made.Op(0, d, 0, "grads-reduce-scatter", 200 + 100 * d, 110 - 100 * d);
    made.Op(0, d, 0, "optimizer", 342, 10);
  }
  const auto result = Compute(made);
  ASSERT_TRUE(result.has_value());
  EXPECT_DOUBLE_EQ(result->slowdown, 320.0 / 270);
  EXPECT_DOUBLE_EQ(result->launch_slowdown, 352.0 / 320);
}

TEST(WhatIf, EveryStepHasItsOwnSlowdownAgainstOneIdeal) {
  // Forward 100, 200, 100, 100: mean 125; ideal 245; steps 320 and 220.
  const auto result =
      Compute(MadeOpTrace(1).DataParallelStep(4, 100).DataParallelStep(9, 0));
  ASSERT_TRUE(result.has_value());
  ASSERT_EQ(result->steps.size(), 2u);
  EXPECT_EQ(result->steps[0].step, 4);
  EXPECT_DOUBLE_EQ(result->steps[0].slowdown, 320.0 / 245);
  EXPECT_EQ(result->steps[1].step, 9);
  EXPECT_DOUBLE_EQ(result->steps[1].slowdown, 220.0 / 245);
  EXPECT_DOUBLE_EQ(result->slowdown, 270.0 / 245);
}

TEST(WhatIf, WithoutSlowdownThereIsNothingToShareOut) {
  const auto result = Compute(MadeOpTrace(1).DataParallelStep(0, 0));
  ASSERT_TRUE(result.has_value());
  EXPECT_DOUBLE_EQ(result->slowdown, 1);
  const base::Json json = ToJson(*result);
  EXPECT_TRUE(json["M_W"].is_null());
  EXPECT_EQ(json["M_W_reason"].AsString(), "there is no slowdown to share out");
  EXPECT_TRUE(json["M_S"].is_null());
  EXPECT_TRUE(json.Has("M_S_reason"));
}

TEST(WhatIf, AStepWithUnlikeRanksIsLeftOut) {
  MadeOpTrace made(1);
  made.DataParallelStep(0, 100);
  made.Op(1, 0, 0, "forward-compute", 0, 5).Op(1, 0, 0, "optimizer", 5, 5);
  made.Op(1, 1, 0, "forward-compute", 0, 5).Op(1, 1, 0, "gc", 5, 5);
  const auto result = Compute(made);
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->steps.size(), 1u);
  ASSERT_EQ(result->left_out.size(), 1u);
  EXPECT_EQ(result->left_out[0].reason, "data-parallel ranks with unlike operations");
  EXPECT_EQ(result->left_out[0].steps, 1);
  EXPECT_EQ(result->left_out[0].first_step, 1);
  EXPECT_DOUBLE_EQ(result->ideal_step_ns, 270 * kMs);  // of the other step alone
}

TEST(WhatIf, AStepThatLacksOperationsOfTheOthersIsLeftOut) {
  MadeOpTrace made(1);
  for (const int d : {0, 1}) made.Op(0, d, 0, "forward-compute", 0, 5);
  made.DataParallelStep(1, 100).DataParallelStep(2, 100);
  const auto result = Compute(made);
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->steps.size(), 2u);
  ASSERT_EQ(result->left_out.size(), 1u);
  EXPECT_EQ(result->left_out[0].reason, "operations unlike those of most steps");
  EXPECT_EQ(result->left_out[0].first_step, 0);
}

TEST(WhatIf, AStepWithoutAWorkerIsLeftOut) {
  MadeOpTrace made(1);
  made.DataParallelStep(0, 100).Op(1, 0, 0, "forward-compute", 0, 5);
  const auto result = Compute(made);
  ASSERT_TRUE(result.has_value());
  ASSERT_EQ(result->left_out.size(), 1u);
  EXPECT_EQ(result->left_out[0].reason, "a worker without operations");
}

TEST(WhatIf, AStepInAnotherOrderIsLeftOut) {
  MadeOpTrace made(1);
  made.DataParallelStep(0, 100);
  for (const int d : {0, 1}) {  // backward before forward
    made.Op(1, d, 0, "forward-compute", 100, 100);
    made.Op(1, d, 0, "backward-compute", 0, 100);
    made.Op(1, d, 0, "grads-reduce-scatter", 200, 10);
    made.Op(1, d, 0, "optimizer", 210, 10);
  }
  const auto result = Compute(made);
  ASSERT_TRUE(result.has_value());
  ASSERT_EQ(result->left_out.size(), 1u);
  EXPECT_EQ(result->left_out[0].reason,
            "operations in another order than in the first step");
}

TEST(WhatIf, UnmatchedMessagesLeaveNoStepAndSayWhy) {
  MadeOpTrace made(2);
  made.Op(5, 0, 0, "forward-compute", 0, 10).Op(5, 0, 0, "forward-send", 10, 1);
  made.Op(5, 0, 1, "forward-compute", 11, 10);
  const auto result = Compute(made);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().id, "ANL-0145");
  EXPECT_NE(result.error().what.find(
                "stages 0 and 1: 1 of forward-send meet 0 of forward-recv"),
            std::string::npos)
      << result.error().what;
}

TEST(WhatIf, ACircleLeavesNoStepAndSaysSo) {
  // Reduce-scatters numbered against their order in time.
  MadeOpTrace made(1);
  made.Op(0, 0, 0, "forward-compute", 0, 10);
  made.Op(0, 0, 0, "grads-reduce-scatter", 30, 5, 0);
  made.Op(0, 0, 0, "grads-reduce-scatter", 20, 5, 1);
  const auto result = Compute(made);
  ASSERT_FALSE(result.has_value());
  EXPECT_NE(result.error().what.find("wait for one another in a circle"),
            std::string::npos);
}

TEST(WhatIf, AJobLargerThanItsTraceIsRefused) {
  const auto result = Compute(MadeOpTrace(1).DataParallelStep(0, 100),
                              "dp_size: 1000000\npp_size: 1000000\n");
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().id, "ANL-0144");
}

TEST(WhatIf, MorePartsThanAreReplayedAreRefused) {
  MadeOpTrace made(1);
  for (int d = 0; d < 4096; ++d) made.Op(0, d, 0, "forward-compute", 0, 1);
  EXPECT_EQ(Compute(made).error().id, "ANL-0147");
}

TEST(WhatIf, AStepOfNoDurationIsRefused) {
  MadeOpTrace made(1);
  for (const int d : {0, 1}) made.Op(0, d, 0, "forward-compute", 0, 0);
  EXPECT_EQ(Compute(made).error().id, "ANL-0146");
}

TEST(WhatIf, TimesThatCannotBeSummedLeaveTheStepOut) {
  const std::string csv = MadeOpTrace(1).DataParallelStep(0, 100).Csv() +
                          "0,0,0,1,forward-compute,0,2000000000,0,0,0,0\n"
                          "1,0,1,1,forward-compute,0,2000000000,0,0,0,0\n";
  const auto result = Compute(csv);
  ASSERT_TRUE(result.has_value());
  ASSERT_EQ(result->left_out.size(), 1u);
  EXPECT_EQ(result->left_out[0].reason, "times too long to sum");
}

TEST(WhatIf, OfSeveralRanksOfAWorkerTheLowestCounts) {
  std::string csv = MadeOpTrace(1).DataParallelStep(0, 100).Csv();
  csv += "0,0,5,0,forward-compute,0,9,0,0,0,0\n";
  const auto result = Compute(csv);
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->ops_of_other_ranks, 1);
  EXPECT_DOUBLE_EQ(result->ideal_step_ns, 270 * kMs);
}

TEST(WhatIf, JsonNamesPartsAndSlowdowns) {
  const auto result = Compute(MadeOpTrace(2).PipelineStep(3));
  ASSERT_TRUE(result.has_value());
  const base::Json json = ToJson(*result);
  EXPECT_DOUBLE_EQ(json["S"].AsDouble(), 210.0 / 180);
  EXPECT_DOUBLE_EQ(json["M_S"].AsDouble(), 2);
  const base::Json& stage = json["by_stage"].AsArray().at(0);
  EXPECT_EQ(stage["stage"].AsInt(), 1);
  EXPECT_DOUBLE_EQ(stage["slowdown"].AsDouble(), 240.0 / 180);
  EXPECT_EQ(json["by_rank"].AsArray().at(0)["rank"].AsInt(), 1);
  EXPECT_EQ(json["by_op"].AsArray().size(), 4u);
  EXPECT_EQ(json["steps"].AsArray().at(0)["actual_ns"].AsInt(), 210'000'000);
}

}  // namespace
}  // namespace stepslack::analyze

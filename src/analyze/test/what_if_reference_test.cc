// The two public traces of the what-if paper's artifact against its own results.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "stepslack/analyze/what_if.h"
#include "stepslack/base/file.h"
#include "stepslack/base/json.h"

namespace stepslack::analyze {
namespace {

std::string DataFolder() {
  const char* given = std::getenv("STEPSLACK_SHARED");
  const char* source = std::getenv("STEPSLACK_SOURCE");
  const std::string shared = given != nullptr ? given
                             : source == nullptr
                                 ? ""
                                 : base::JoinPath(base::ParentFolder(source), "shared");
  return base::JoinPath(shared, "data/diagnosis/straggler_bytedance");
}

base::Json Reference(const std::string& kind, const std::string& name) {
  const auto text =
      base::ReadFile(base::JoinPath(DataFolder(), kind + "-" + name + ".json"));
  EXPECT_TRUE(text.has_value());
  const auto json = base::ParseJson(text.value_or("{}"), name);
  return json.value_or(base::Json());
}

// The reference keeps durations as 32-bit floats (7 digits).
constexpr double kRelative = 1e-6;

class WhatIfReference : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const std::string csv =
        base::JoinPath(DataFolder(), std::string("trace-") + GetParam() + ".csv.gz");
    if (!base::PathExists(csv)) GTEST_SKIP() << "no op trace at " << csv;
    const auto trace = trace::ReadOpTrace(
        csv, base::JoinPath(DataFolder(), std::string("meta-") + GetParam() + ".yaml"));
    ASSERT_TRUE(trace.has_value());
    EXPECT_TRUE(trace->stats.counts().empty());
    const auto result = ComputeWhatIf(*trace);
    ASSERT_TRUE(result.has_value()) << result.error().what;
    result_ = *result;
    expected_ = Reference("result", GetParam());
  }

  static void ExpectClose(double value, double expected, const std::string& what) {
    EXPECT_NEAR(value, expected, kRelative * std::abs(expected)) << what;
  }

  WhatIf result_;
  base::Json expected_;
};

TEST_P(WhatIfReference, SlowdownsOfTheJobAndOfEveryStepAgree) {
  EXPECT_TRUE(result_.left_out.empty());
  ExpectClose(result_.slowdown, expected_["blocking_slowdown"].AsDouble(), "S");
  ExpectClose(result_.launch_slowdown, expected_["launch_slowdown"].AsDouble(),
              "launch");
  ASSERT_EQ(result_.steps.size(), expected_["step_t_base"].AsObject().size());
  for (const WhatIfStep& step : result_.steps) {
    const std::string key = std::to_string(step.step);
    ExpectClose(1e-9 * static_cast<double>(step.measured_ns),
                expected_["step_t_base"][key].AsDouble(), "measured " + key);
    ExpectClose(1e-9 * static_cast<double>(step.actual_ns),
                expected_["step_t_nodelay"][key].AsDouble(), "actual " + key);
    ExpectClose(1e-9 * static_cast<double>(step.ideal_ns),
                expected_["step_t_noblk"][key].AsDouble(), "ideal " + key);
    ExpectClose(step.slowdown, expected_["blocking_step_slowdown"][key].AsDouble(),
                "S of " + key);
  }
}

TEST_P(WhatIfReference, SlowdownOfEveryPartAgrees) {
  const base::Json& dp_ranks = expected_["blocking_decompose_by_dp_rank"];
  ASSERT_EQ(result_.by_dp_rank.size(), dp_ranks.AsObject().size());
  for (const WhatIfPart& part : result_.by_dp_rank) {
    ExpectClose(part.slowdown, dp_ranks[std::to_string(part.id)].AsDouble(), "dp rank");
  }
  const base::Json& stages = expected_["blocking_decompose_by_stage"];
  ASSERT_EQ(result_.by_stage.size(), stages.AsObject().size());
  for (const WhatIfPart& part : result_.by_stage) {
    ExpectClose(part.slowdown, stages[std::to_string(part.id)].AsDouble(), "stage");
  }
  const base::Json& ops = expected_["blocking_decompose_by_optype"];
  ASSERT_EQ(result_.by_op.size(), ops.AsObject().size());
  for (const WhatIfOp& op : result_.by_op) {
    ExpectClose(op.slowdown, ops[op.op].AsDouble(), op.op);
  }
}

TEST_P(WhatIfReference, SharesOfTheSlowestWorkersAndTheLastStageAgree) {
  const base::Json workers = Reference("mw", GetParam());
  ASSERT_TRUE(result_.slowest_workers.has_value());
  ExpectClose(1e-9 * result_.actual_step_ns, workers["tori"].AsDouble(), "tori");
  ExpectClose(1e-9 * result_.ideal_step_ns, workers["tideal"].AsDouble(), "tideal");
  ExpectClose(1e-9 * result_.slowest_workers->without_step_ns,
              workers["trem"].AsDouble(), "trem");
  ExpectClose(1e-9 * result_.slowest_workers->only_step_ns, workers["tadd"].AsDouble(),
              "tadd");
  EXPECT_NEAR(result_.slowest_workers->share, workers["Mw"].AsDouble(), 1e-5);
  EXPECT_NEAR(result_.slowest_workers->alone, workers["add"].AsDouble(), 1e-5);
  const base::Json stage = Reference("ms", GetParam());
  ASSERT_TRUE(result_.last_stage.has_value());
  EXPECT_NEAR(result_.last_stage->share, stage["Ms"].AsDouble(), 1e-5);
  EXPECT_NEAR(result_.last_stage->alone, stage["add"].AsDouble(), 1e-5);
}

INSTANTIATE_TEST_SUITE_P(Jobs, WhatIfReference, testing::Values("AR", "ST"));

}  // namespace
}  // namespace stepslack::analyze

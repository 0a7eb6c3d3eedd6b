#include "stepslack/analyze/overfit.h"

#include <gtest/gtest.h>

#include <limits>

namespace stepslack::analyze {
namespace {

record::RunRecord MakeRun(const std::vector<double>& metric, double last_loss) {
  record::RunRecord run;
  run.steps.emplace_back();
  for (int64_t s = 0; s < 20; ++s) {
    record::StepRecord step;
    step.step = s;
    step.loss = s < 18 ? 5.0 : (s == 18 ? 0.3 : 0.5);  // last tenth: mean 0.4
    run.steps[0].push_back(step);
  }
  for (size_t i = 0; i < metric.size(); ++i) {
    record::EvalRecord eval;
    eval.step = static_cast<int64_t>(10 * (i + 1));
    eval.relative_mae = metric[i];
    eval.loss = last_loss;
    run.evals.push_back(eval);
  }
  return run;
}

TEST(Overfit, DriftIsTheRiseFromTheBestEvaluation) {
  const record::RunRecord run = MakeRun({0.40, 0.25, 0.20, 0.25}, 0.5);
  const std::vector<LabelledRun> runs = {{"seed 1", &run}};
  const Overfit overfit = ComputeOverfit(runs);
  EXPECT_NEAR(*overfit.runs[0].drift, 0.25, 1e-12);
  EXPECT_EQ(overfit.runs[0].best_step, 30);
  EXPECT_EQ(overfit.runs[0].last_step, 40);
  EXPECT_NEAR(*overfit.runs[0].final_train_loss, 0.4, 1e-12);
  EXPECT_NEAR(*overfit.runs[0].gap, 0.25, 1e-12);
  EXPECT_NEAR(*overfit.drift.value, 0.25, 1e-12);
  EXPECT_FALSE(overfit.drift.low.has_value());  // one run
}

TEST(Overfit, IsZeroWhenTheLastEvaluationIsTheBest) {
  const record::RunRecord a = MakeRun({0.40, 0.20}, 0.5);
  const record::RunRecord b = MakeRun({0.40, 0.20}, 0.3);
  const std::vector<LabelledRun> runs = {{"seed 1", &a}, {"seed 2", &b}};
  const Overfit overfit = ComputeOverfit(runs);
  EXPECT_DOUBLE_EQ(*overfit.drift.value, 0);
  EXPECT_NEAR(*overfit.gap.value, 0.0, 1e-12);  // mean of +0.25 and -0.25
  EXPECT_EQ(overfit.gap.n, 2);
}

TEST(Overfit, RunsWithoutEvaluationsOrStepsAreLeftOut) {
  record::RunRecord empty;
  record::RunRecord broken = MakeRun({std::numeric_limits<double>::quiet_NaN()}, 0.5);
  const std::vector<LabelledRun> runs = {{"a", &empty}, {"b", &broken}};
  const Overfit overfit = ComputeOverfit(runs);
  EXPECT_FALSE(overfit.drift.value.has_value());
  EXPECT_FALSE(overfit.gap.value.has_value());
  EXPECT_EQ(overfit.runs[1].evaluations, 0);
  EXPECT_EQ(ToJson(overfit)["runs"].AsArray().size(), 2u);
}

}  // namespace
}  // namespace stepslack::analyze

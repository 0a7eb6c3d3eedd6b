#include "stepslack/analyze/run_outcome.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

namespace stepslack::analyze {
namespace {

// A line of an MLPerf log at `s` seconds; metadata and value are JSON.
std::string Line(std::string_view key, double s, std::string_view metadata = "",
                 std::string_view value = "null") {
  return fmt::format(
      ":::MLLOG {{\"time_ms\": {:.0f}, \"key\": \"{}\", \"value\": {}, "
      "\"metadata\": {{{}}}}}\n",
      1e12 + s * 1000, key, value, metadata);
}

std::string Head(std::string_view benchmark) {
  return Line("submission_benchmark", 0, "", fmt::format("\"{}\"", benchmark)) +
         Line("submission_org", 0, "", "\"SUBMISSION_ORG_PLACEHOLDER\"") +
         Line("submission_platform", 0, "", "\"4xBox\"") + Line("init_start", 0) +
         Line("global_batch_size", 1, "", "512") + Line("seed", 1, "", "7") +
         Line("run_start", 30);
}

std::string Eval(double s, std::string_view at, double value) {
  return Line("eval_accuracy", s, at, fmt::format("{}", value));
}

RunOutcome Outcome(const std::string& log, std::string_view source = "logs/one.txt") {
  const auto run = trace::ParseMllog(log, source);
  EXPECT_TRUE(run.has_value());
  return OutcomeOf(run.value_or(trace::MllogRun{}), source);
}

constexpr std::string_view kSuccess = "\"status\": \"success\"";

TEST(RunOutcome, TimeSamplesAndGridOfASuccess) {
  const RunOutcome run =
      Outcome(Head("resnet") + Line("eval_start", 60) + Line("eval_stop", 66) +
                  Eval(66, "\"epoch_num\": 3", 0.5) +
                  Eval(140, "\"epoch_num\": 7", 0.76) + Line("run_stop", 150, kSuccess),
              "in.tar.gz!results/box_n4/resnet/result_0.txt");
  EXPECT_EQ(run.status, RunStatus::kSuccess);
  EXPECT_TRUE(run.reached());
  EXPECT_DOUBLE_EQ(run.ttt_min.value(), 2.0);  // 30 s to 150 s
  EXPECT_DOUBLE_EQ(run.init_min.value(), 0.5);
  EXPECT_DOUBLE_EQ(run.eval_share.value(), 6.0 / 120);
  EXPECT_EQ(run.samples_to_target, 7 * 1281167);
  EXPECT_EQ(run.eval_grid_width, 4 * 1281167);
  EXPECT_EQ(run.unit, "samples");
  EXPECT_EQ(run.global_batch, 512);
  EXPECT_EQ(run.seed, 7);
  EXPECT_EQ(run.system, "box_n4");
  EXPECT_EQ(run.submitter, "");  // a placeholder says nothing
  EXPECT_EQ(run.reason, "");
  EXPECT_FALSE(run.world_size.has_value());
  EXPECT_EQ(run.world_size_reason,
            "the log does not say how many accelerators it used");
}

TEST(RunOutcome, PlatformIsTheSystemWhereThePathDoesNotNameOne) {
  EXPECT_EQ(Outcome(Head("resnet")).system, "4xBox");
}

TEST(RunOutcome, GivenWorldSizeIsTaken) {
  const auto run = trace::ParseMllog(Head("resnet"), "a");
  EXPECT_EQ(OutcomeOf(*run, "a", 16).world_size, 16);
  EXPECT_FALSE(OutcomeOf(*run, "a", 0).world_size.has_value());
}

TEST(RunOutcome, LogWithoutRunStopIsTruncatedEvenWhenItsLastEvaluationMeetsTheTarget) {
  const RunOutcome run =
      Outcome(Head("bert") + Eval(90, "\"epoch_num\": 3000", 0.7204));
  EXPECT_EQ(run.status, RunStatus::kTruncated);
  EXPECT_FALSE(run.reached());
  EXPECT_FALSE(run.ttt_min.has_value());
  EXPECT_DOUBLE_EQ(run.watched_min.value(), 1.0);
  EXPECT_EQ(run.samples_to_target, 3000);
  EXPECT_EQ(run.reason,
            "truncated: the log has no run_stop; its last evaluation, 0.7204, meets "
            "the target of at least 0.72");
}

TEST(RunOutcome, AbortedRunSaysHowFarItCame) {
  const RunOutcome run =
      Outcome(Head("llama2_70b_lora") + Eval(90, "\"samples_count\": 384", 0.94) +
              Line("run_stop", 90, "\"status\": \"aborted\""));
  EXPECT_EQ(run.status, RunStatus::kAborted);
  EXPECT_FALSE(run.reached());
  EXPECT_DOUBLE_EQ(run.ttt_min.value(), 1.0);
  EXPECT_EQ(run.samples_to_target, 384);
  EXPECT_TRUE(run.reason.starts_with(
      "aborted after 1 min: run_stop has status aborted; its last evaluation, 0.94, "
      "misses the target of at most 0.925"))
      << run.reason;
}

TEST(RunOutcome, RunStopWithoutStatusIsNoSuccess) {
  const RunOutcome run = Outcome(Head("gnn") + Line("run_stop", 90));
  EXPECT_EQ(run.status, RunStatus::kAborted);
  EXPECT_TRUE(run.reason.starts_with("aborted after 1 min: run_stop has no status"));
}

TEST(RunOutcome, BertWhoseEpochStaysOneCountsItsTrainSamples) {
  const std::string log = Head("bert") + Eval(60, "\"epoch_num\": 1", 0.7) +
                          Eval(90, "\"epoch_num\": 1", 0.73) +
                          Line("run_stop", 90, kSuccess) +
                          Line("train_samples", 91, "", "2550016");
  const RunOutcome run = Outcome(log);
  EXPECT_EQ(run.samples_to_target, 2550016);
  EXPECT_FALSE(run.eval_grid_width.has_value());  // where the others were is not said
}

TEST(RunOutcome, Gpt3CountsTokens) {
  const RunOutcome run =
      Outcome(Head("gpt3") + Eval(60, "\"epoch_num\": 50331648", 2.7) +
              Line("run_stop", 90, kSuccess));
  EXPECT_EQ(run.samples_to_target, 50331648);
  EXPECT_EQ(run.unit, "tokens");
}

TEST(RunOutcome, Unet3dEpochsAreVolumes) {
  const RunOutcome run =
      Outcome(Head("unet3d") + Eval(60, "\"epoch_num\": 1000", 0.9) +
              Eval(70, "\"epoch_num\": 1020", 0.91) + Line("run_stop", 90, kSuccess));
  EXPECT_EQ(run.samples_to_target, 1020 * 168);
  EXPECT_EQ(run.eval_grid_width, 20 * 168);
}

// FID at 2000 is too high, CLIP at 3000 too low; 4000 is the first with both.
TEST(RunOutcome, StableDiffusionCountsTheFirstCheckpointThatPassesBothMetrics) {
  std::string log = Head("stable_diffusion") + Line("run_stop", 90, kSuccess);
  const auto point = [](int64_t samples, double fid, double clip) {
    return Eval(100, fmt::format("\"samples_count\": {}, \"metric\": \"FID\"", samples),
                fid) +
           Eval(101,
                fmt::format("\"samples_count\": {}, \"metric\": \"CLIP\"", samples),
                clip);
  };
  log += point(2000, 120, 0.16) + point(3000, 80, 0.14) + point(4000, 90, 0.15) +
         point(5000, 70, 0.2);
  const RunOutcome run = Outcome(log);
  EXPECT_EQ(run.samples_to_target, 4000);
  EXPECT_EQ(run.eval_grid_width, 1000);
  EXPECT_FALSE(run.eval_share.has_value());
}

TEST(RunOutcome, AbsurdPositionsAreNotKnownSamples) {
  const RunOutcome run =
      Outcome(Head("resnet") + Eval(60, "\"epoch_num\": 1e300", 0.76) +
              Eval(61, "\"epoch_num\": -4", 0.76) + Line("run_stop", 90, kSuccess));
  EXPECT_TRUE(run.reached());
  EXPECT_FALSE(run.samples_to_target.has_value());
  EXPECT_TRUE(
      run.reason.starts_with("samples are not known: the evaluations do not "
                             "say after how many samples"))
      << run.reason;
}

TEST(RunOutcome, EvaluationsOfAFurtherRunDoNotCount) {
  const RunOutcome run =
      Outcome(Head("resnet") + Eval(60, "\"epoch_num\": 3", 0.76) +
              Line("run_stop", 90, kSuccess) + Line("run_start", 100) +
              Eval(120, "\"epoch_num\": 9", 0.5) + Line("run_stop", 130, kSuccess));
  EXPECT_EQ(run.samples_to_target, 3 * 1281167);
  EXPECT_DOUBLE_EQ(run.ttt_min.value(), 1.0);
}

}  // namespace
}  // namespace stepslack::analyze

#include "stepslack/analyze/time_to_accuracy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "block_estimate.h"
#include "stepslack/stats/intervals.h"

namespace stepslack::analyze {
namespace {

using base::Estimate;

double NotNegative(double value) {
  return std::isfinite(value) ? std::max(value, 0.0) : 0.0;
}

TargetTime Describe(const LabelledRun& labelled) {
  const record::RunRecord& run = *labelled.run;
  TargetTime time;
  time.label = labelled.label;
  time.failed = run.summary.status != "done";
  time.reached = run.summary.target_reached;
  if (time.reached) {
    time.seconds_high = NotNegative(run.summary.seconds_to_target);
    time.seconds_low =
        std::min(NotNegative(run.summary.seconds_before_target), time.seconds_high);
    time.samples = run.summary.samples_to_target;
  } else {
    time.seconds_low = time.seconds_high = NotNegative(run.summary.train_seconds);
    time.samples = run.summary.samples;
  }
  double evaluating = 0;
  for (const record::EvalRecord& eval : run.evals) {
    evaluating += NotNegative(eval.eval_seconds);
  }
  const double training = NotNegative(run.summary.train_seconds);
  time.evaluation_share = training > 0 ? std::min(evaluating / training, 1.0) : 0;
  return time;
}

// Geometric mean when every run arrived, else the Kaplan-Meier median.
Estimate Typical(const std::vector<stats::Duration>& durations, bool all_reached,
                 std::string_view unit, double confidence) {
  if (!all_reached) return stats::MedianTime(durations, unit, "runs", confidence);
  std::vector<double> values;
  for (const stats::Duration& d : durations) values.push_back(d.time);
  const bool positive =
      std::all_of(values.begin(), values.end(), [](double v) { return v > 0; });
  // A target that the very first evaluation sees has its lower end at time 0.
  return positive ? stats::GeometricMeanInterval(values, unit, "runs", confidence)
                  : stats::MeanInterval(values, unit, "runs", confidence);
}

base::Json RunJson(const TargetTime& run) {
  base::Json json;
  json.Set("label", run.label);
  json.Set("reached", run.reached);
  json.Set("failed", run.failed);
  json.Set("seconds_low", run.seconds_low);
  json.Set("seconds_high", run.seconds_high);
  json.Set("samples", run.samples);
  json.Set("evaluation_share", run.evaluation_share);
  return json;
}

base::Json CurveJson(const stats::SurvivalCurve& curve) {
  base::Json steps = base::Json::Array{};
  for (const stats::SurvivalStep& step : curve.steps) {
    base::Json item;
    item.Set("seconds", step.time);
    item.Set("at_risk", step.at_risk);
    item.Set("events", step.events);
    item.Set("still_on_the_way", step.survival);
    item.Set("low", step.low);
    item.Set("high", step.high);
    steps.Append(std::move(item));
  }
  return steps;
}

}  // namespace

TimeToAccuracy ComputeTimeToAccuracy(std::span<const LabelledRun> runs, double target,
                                     std::string metric, double confidence) {
  TimeToAccuracy report;
  report.target = target;
  report.metric = std::move(metric);
  std::vector<stats::Duration> at;
  std::vector<stats::Duration> before;
  std::vector<stats::Duration> samples;
  std::vector<double> evaluation;
  for (const LabelledRun& labelled : runs) {
    const TargetTime time = Describe(labelled);
    report.reached += time.reached ? 1 : 0;
    at.push_back({time.seconds_high, time.reached});
    before.push_back({time.seconds_low, time.reached});
    samples.push_back(
        {static_cast<double>(std::max<int64_t>(time.samples, 0)), time.reached});
    if (labelled.run->summary.train_seconds > 0) {
      evaluation.push_back(time.evaluation_share);
    }
    report.runs.push_back(time);
  }
  const int64_t n = static_cast<int64_t>(report.runs.size());
  const bool all = n > 0 && report.reached == n;
  report.curve = stats::KaplanMeier(at, confidence);
  report.success_share =
      stats::ClopperPearsonInterval(report.reached, n, "runs", confidence);
  report.evaluation_share = stats::MeanInterval(evaluation, "1", "runs", confidence);
  if (n == 0) {
    report.seconds = report.seconds_before = Unknown("s", "no runs");
    report.samples = Unknown("samples", "no runs");
    return report;
  }
  report.seconds = Typical(at, all, "s", confidence);
  report.seconds_before = Typical(before, all, "s", confidence);
  report.samples = Typical(samples, all, "samples", confidence);
  const std::string note =
      fmt::format("; {} of {} runs reached the target", report.reached, n);
  for (Estimate* estimate :
       {&report.seconds, &report.seconds_before, &report.samples}) {
    estimate->method += note;
  }
  return report;
}

base::Json ToJson(const TimeToAccuracy& report) {
  base::Json json;
  json.Set("schema", "stepslack.time_to_accuracy/1");
  json.Set("metric", report.metric);
  json.Set("target", report.target);
  json.Set("reached", report.reached);
  json.Set("seconds", base::ToJson(report.seconds));
  json.Set("seconds_before", base::ToJson(report.seconds_before));
  json.Set("samples", base::ToJson(report.samples));
  json.Set("success_share", base::ToJson(report.success_share));
  json.Set("evaluation_share", base::ToJson(report.evaluation_share));
  json.Set("curve", CurveJson(report.curve));
  base::Json runs = base::Json::Array{};
  for (const TargetTime& run : report.runs) runs.Append(RunJson(run));
  json.Set("runs", std::move(runs));
  return json;
}

}  // namespace stepslack::analyze

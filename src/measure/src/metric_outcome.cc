#include "metric_outcome.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "stepslack/base/text.h"

namespace stepslack::measure {
namespace {

using analyze::RunOutcome;
using analyze::RunStatus;
using logs::Point;
using logs::Series;

constexpr double kNsOfMinute = 60e9;

void Say(RunOutcome& outcome, std::string_view what) {
  if (!outcome.reason.empty()) outcome.reason += "; ";
  outcome.reason += what;
}

const Series* FindMetric(const logs::SeriesSet& log, const std::string& metric) {
  const Series* series = log.Find(metric);
  return series != nullptr ? series : log.Find("eval_" + metric);
}

struct Times {
  std::optional<int64_t> first;
  std::optional<int64_t> last;
  bool backwards = false;
};

Times TimesOf(const logs::SeriesSet& log) {
  Times times;
  for (const Series& series : log.series) {
    std::optional<int64_t> before;
    for (const Point& point : series.points) {
      if (!point.time_ns) continue;
      if (before && *point.time_ns < *before) times.backwards = true;
      before = point.time_ns;
      times.first = std::min(times.first.value_or(*before), *before);
      times.last = std::max(times.last.value_or(*before), *before);
    }
  }
  return times;
}

// Minutes of the logged steps up to `step`, when every one of them has its seconds.
std::optional<double> MinutesOfSteps(const logs::SeriesSet& log, int64_t step) {
  const Series* seconds = log.Find(logs::kStepSeconds);
  if (seconds == nullptr) return std::nullopt;
  double sum = 0;
  int64_t before = 0;
  for (const Point& point : seconds->points) {
    if (point.step > step) break;
    if (!std::isfinite(point.value) || point.segment > 0) return std::nullopt;
    // A logged value stands for the steps since the one before.
    sum += point.value * static_cast<double>(std::max<int64_t>(point.step - before, 1));
    before = point.step;
  }
  return sum > 0 ? std::optional(sum / 60) : std::nullopt;
}

void SetTime(const logs::SeriesSet& log, const Point& point, const Times& times,
             RunOutcome& outcome) {
  if (times.backwards) return;
  if (point.time_ns && times.first) {
    outcome.ttt_min = static_cast<double>(*point.time_ns - *times.first) / kNsOfMinute;
    Say(outcome, "ttt_min is derived: from the first time stamp of the log");
    return;
  }
  outcome.ttt_min = MinutesOfSteps(log, point.step);
  Say(outcome, outcome.ttt_min ? "ttt_min is derived: the sum of step_seconds"
                               : "no time stamps: no time to the target");
}

void SetSamples(const Point& point, RunOutcome& outcome) {
  if (point.samples) {
    outcome.samples_to_target = point.samples;
  } else if (outcome.global_batch && point.step > 0 &&
             point.step < (int64_t{1} << 62) / *outcome.global_batch) {
    outcome.samples_to_target = point.step * *outcome.global_batch;
    Say(outcome, "samples are derived: step x global batch");
  } else {
    Say(outcome, "samples to the target are not known");
  }
}

void SetTarget(const logs::SeriesSet& log, const MetricTarget& target,
               const Times& times, RunOutcome& outcome) {
  const Series* series = FindMetric(log, target.metric);
  if (series == nullptr || series->points.empty()) {
    return Say(outcome, fmt::format("the log has no `{}`", target.metric));
  }
  outcome.final_quality = series->points.back().value;
  for (const Point& point : series->points) {
    const bool met =
        target.at_most ? point.value <= target.bound : point.value >= target.bound;
    if (!met) continue;
    outcome.status = RunStatus::kSuccess;
    SetTime(log, point, times, outcome);
    SetSamples(point, outcome);
    return;
  }
  outcome.status = RunStatus::kAborted;
  Say(outcome, fmt::format("`{}` ends at {}, without the target", target.metric,
                           series->points.back().value));
  if (!times.backwards) outcome.ttt_min = outcome.watched_min;
  SetSamples(series->points.back(), outcome);
}

}  // namespace

base::Result<MetricTarget> ParseTarget(std::string_view text) {
  for (const std::string_view sign : {">=", "<="}) {
    const size_t at = text.find(sign);
    if (at == std::string_view::npos) continue;
    const auto bound = base::ParseDouble(base::Trim(text.substr(at + 2)));
    const std::string metric(base::Trim(text.substr(0, at)));
    if (!bound || !std::isfinite(*bound) || metric.empty()) break;
    return MetricTarget{metric, sign == "<=", *bound};
  }
  return base::Fail("RUNS-0100", base::ExitCode::kUsage,
                    "a target is a metric, >= or <=, and a number",
                    fmt::format("--target {}", text),
                    "for example --target \"eval_accuracy>=0.9\"");
}

analyze::RunOutcome OutcomeOfLog(const logs::SeriesSet& log,
                                 const std::optional<MetricTarget>& target) {
  RunOutcome outcome;
  outcome.source = log.run.name;
  outcome.format = log.run.framework.empty() ? log.run.format : log.run.framework;
  outcome.benchmark = target ? target->metric : "";
  outcome.world_size = log.run.world_size;
  outcome.global_batch = log.run.global_batch_size;
  outcome.unit = "samples";
  for (const char* name : {"world_size", "ranks", "num_gpus", "n_gpus", "workers"}) {
    const logs::Series* series = log.Find(name);
    if (outcome.world_size || series == nullptr || series->points.empty()) continue;
    const double workers = series->points.front().value;
    const bool constant = std::ranges::all_of(
        series->points,
        [&](const logs::Point& point) { return point.value == workers; });
    if (constant && workers >= 1 && workers <= 1e9 && workers == std::floor(workers)) {
      outcome.world_size = static_cast<int64_t>(workers);
    }
  }
  if (!outcome.world_size) outcome.world_size_reason = "no world size in the log";
  const Series* batch = log.Find(logs::kBatch);
  if (!outcome.global_batch && batch != nullptr && !batch->points.empty() &&
      batch->points.back().value >= 1 && batch->points.back().value < 1e15) {
    outcome.global_batch = static_cast<int64_t>(batch->points.back().value);
  }
  const Times times = TimesOf(log);
  if (times.backwards) Say(outcome, "the clock of the log goes backwards");
  if (times.first && !times.backwards) {
    outcome.watched_min = static_cast<double>(*times.last - *times.first) / kNsOfMinute;
  }
  if (!outcome.global_batch || *outcome.global_batch < 1) {
    outcome.global_batch.reset();
    Say(outcome, "no batch size");
  }
  if (!target) {
    Say(outcome, "no target: give --target \"METRIC>=VALUE\"");
    return outcome;
  }
  SetTarget(log, *target, times, outcome);
  return outcome;
}

}  // namespace stepslack::measure

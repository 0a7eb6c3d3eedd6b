#include "stepslack/logs/mllog_series.h"

#include <cmath>

#include "series_builder.h"
#include "stepslack/base/json.h"

namespace stepslack::logs {
namespace {

using trace::MllogPosition;
using trace::MllogRun;

bool CountsTokens(const MllogRun& run) { return run.benchmark == "gpt3"; }

std::optional<int64_t> Rounded(double value) {
  if (!(value >= 0 && value < 9e15)) return std::nullopt;
  return std::llround(value);
}

struct Consumed {
  std::optional<int64_t> samples;
  const char* how = "";
};

Consumed SamplesAt(const MllogPosition& at, const MllogRun& run) {
  if (at.samples) return {at.samples, ""};
  if (!at.epoch) return {};
  const bool is_count = run.benchmark == "bert" || CountsTokens(run);
  if (is_count && *at.epoch > 1) return {Rounded(*at.epoch), "epoch_num is the count"};
  if (!run.train_samples) return {};
  return {
      Rounded(*at.epoch * static_cast<double>(*run.train_samples)),
      is_count ? "epoch_num 1 is all of train_samples" : "epoch_num x train_samples"};
}

void AddPoints(const std::vector<trace::MllogPoint>& points, std::string_view metric,
               std::string_view unit, const MllogRun& run, SeriesBuilder& builder) {
  std::map<std::string, int64_t> steps;
  std::string how;
  const size_t first = builder.set().series.size();
  for (const trace::MllogPoint& point : points) {
    const Consumed consumed = SamplesAt(point.at, run);
    const std::string name = point.metric.empty() ? std::string(metric) : point.metric;
    const int64_t step = ++steps[name];
    builder.Begin({.step = step,
                   .samples = consumed.samples,
                   .time_ns = point.time_ns,
                   .offset = static_cast<size_t>(step),
                   .step_source = "number of the record: the log counts no steps"});
    builder.ValueAs(name, unit, name, point.value);
    builder.End();
    how = consumed.how;
  }
  for (size_t i = first; i < builder.set().series.size(); ++i) {
    builder.set().series[i].samples_how = how;
  }
}

void AddFacts(const MllogRun& run, RunMeta& meta) {
  const auto text = [&](const char* key, const std::string& value) {
    if (!value.empty()) meta.facts[key] = value.substr(0, 1024);
  };
  text("benchmark", run.benchmark);
  text("submitter", run.submitter);
  text("platform", run.platform);
  text("status", run.status);
  const auto seconds = [&](const char* key, const std::optional<int64_t>& ns) {
    if (ns) meta.facts[key] = base::FormatDouble(static_cast<double>(*ns) / 1e9);
  };
  seconds("run_seconds", run.run_ns);
  seconds("init_seconds", run.init_ns);
  seconds("eval_seconds", run.eval_ns);
  if (run.seed) meta.facts["seed"] = std::to_string(*run.seed);
  meta.global_batch_size = run.global_batch_size;
}

// Samples of the last evaluation, and the rate over the whole run.
void AddRate(const MllogRun& run, SeriesSet& set) {
  if (run.eval_accuracy.empty()) return;
  const trace::MllogPoint& last = run.eval_accuracy.back();
  const Consumed consumed = SamplesAt(last.at, run);
  if (!consumed.samples) return;
  set.run.facts["samples"] = std::to_string(*consumed.samples);
  if (*consumed.how != '\0') set.run.derived["samples"] = consumed.how;
  if (!run.run_ns || *run.run_ns <= 0) return;
  const bool tokens = CountsTokens(run);
  Series rate;
  rate.metric = tokens ? kTokensPerSecond : kSamplesPerSecond;
  rate.original = tokens ? "tokens / run time" : "samples / run time";
  rate.known = true;
  rate.unit = tokens ? "tokens/s" : "samples/s";
  rate.derived = true;
  rate.how =
      "count at the last evaluation / (run_stop - run_start), evaluations included";
  rate.step_source = "one value for the run";
  Point point{.step = 1, .samples = consumed.samples, .time_ns = last.time_ns};
  point.value =
      static_cast<double>(*consumed.samples) / (static_cast<double>(*run.run_ns) / 1e9);
  rate.points.push_back(point);
  set.series.push_back(std::move(rate));
}

}  // namespace

SeriesSet FromMllog(const MllogRun& run, std::string_view name) {
  SeriesBuilder builder(name, "mllog");
  RunMeta& meta = builder.set().run;
  meta.framework = "mlperf";
  AddFacts(run, meta);
  AddPoints(run.eval_accuracy, kEvalAccuracy, "", run, builder);
  // Benchmarks define it differently: not a canonical rate.
  AddPoints(run.throughput, "throughput", "", run, builder);
  for (Series& series : builder.set().series)
    series.known = series.metric == kEvalAccuracy;
  if (!builder.empty()) meta.clock = Clock::kUtc;
  builder.stats().Merge(run.stats);
  SeriesSet set = builder.Finish();
  AddRate(run, set);
  if (!run.no_run.empty()) set.notes.push_back("No time of the run: " + run.no_run);
  return set;
}

base::Result<SeriesSet> ParseMllogSeries(std::string_view text, std::string_view name) {
  SS_TRY(const MllogRun run, trace::ParseMllog(text, name));
  SeriesSet set = FromMllog(run, name);
  if (set.series.empty()) {
    return base::Fail("LOGS-0050", base::ExitCode::kInput,
                      "the MLPerf log has neither an evaluation nor a throughput",
                      std::string(name),
                      "take the log of the process that evaluates, to its end");
  }
  return set;
}

}  // namespace stepslack::logs

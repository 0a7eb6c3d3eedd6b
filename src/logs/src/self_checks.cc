#include "self_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace stepslack::logs {
namespace {

double Deviation(double expected, double found) {
  return expected == 0 ? std::abs(found) : std::abs(found / expected - 1);
}

}  // namespace

std::optional<double> RecordValues::Of(std::string_view metric) const {
  const auto found = by_metric.find(metric);
  if (found == by_metric.end() || !std::isfinite(found->second)) return std::nullopt;
  return found->second;
}

void SelfChecks::Compare(const char* name, const char* formula, int64_t step,
                         double expected, double found) {
  auto check = std::find_if(checks_.begin(), checks_.end(),
                            [&](const Check& c) { return c.name == name; });
  if (check == checks_.end()) {
    checks_.push_back({.name = name, .formula = formula, .tolerance = kCheckTolerance});
    check = checks_.end() - 1;
  }
  const double deviation = Deviation(expected, found);
  if (check->compared == 0 || deviation > Deviation(check->expected, check->found)) {
    check->worst_step = step;
    check->expected = expected;
    check->found = found;
  }
  ++check->compared;
  if (deviation <= kCheckTolerance) ++check->agreed;
}

std::optional<double> SelfChecks::CompareConstant(const char* name, const char* formula,
                                                  const std::vector<Sample>& samples) {
  if (samples.empty()) return std::nullopt;
  std::vector<double> values;
  for (const Sample& sample : samples) values.push_back(sample.value);
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  const double median = *middle;
  if (samples.size() > 1) {
    for (const Sample& sample : samples) {
      Compare(name, formula, sample.step, median, sample.value);
    }
  }
  return median;
}

void SelfChecks::Between(const RecordValues& before, const RecordValues& after) {
  if (before.segment != after.segment || after.step <= before.step) return;
  const double steps =
      static_cast<double>(after.step) - static_cast<double>(before.step);
  const auto batch = after.Of(kBatch);
  const auto samples = after.Of(kSamples);
  const auto samples_before = before.Of(kSamples);
  // A batch that grew in between would make the product wrong, not the log.
  if (batch && samples && samples_before && before.Of(kBatch) == batch) {
    Compare("consumed_samples",
            "growth of consumed_samples = steps x global_batch_size", after.step,
            steps * *batch, *samples - *samples_before);
  }
  const auto rate = after.Of(kTokensPerSecondPerDevice);
  if (rate && after.time_ns && before.time_ns && *after.time_ns > *before.time_ns) {
    const double seconds = static_cast<double>(*after.time_ns - *before.time_ns) / 1e9;
    tokens_per_step_.push_back({after.step, *rate * seconds / steps});
  }
}

void SelfChecks::Add(const RecordValues& record) {
  const auto batch = record.Of(kBatch);
  const auto seconds = record.Of(kStepSeconds);
  const auto rate = record.Of(kSamplesPerSecond);
  if (batch && seconds && rate && *seconds > 0) {
    Compare("samples_per_second",
            "global_batch_size / step_seconds = samples_per_second", record.step,
            *batch / *seconds, *rate);
  }
  const auto length = record.Of(kSequenceLength);
  const auto device_rate = record.Of(kTokensPerSecondPerDevice);
  if (batch && seconds && length && device_rate && *seconds > 0 && *device_rate > 0) {
    world_sizes_.push_back({record.step, *batch * *length / *seconds / *device_rate});
  }
  const auto eval_seconds = record.Of("eval_runtime");
  const auto eval_rate = record.Of("eval_samples_per_second");
  if (eval_seconds && eval_rate) {
    eval_samples_.push_back({record.step, *eval_seconds * *eval_rate});
  }
  const auto train_seconds = record.Of("train_runtime");
  const auto step_rate = record.Of("train_steps_per_second");
  if (train_seconds && step_rate) {
    Compare("train_steps", "train_runtime x train_steps_per_second = steps",
            record.step, static_cast<double>(record.step), *train_seconds * *step_rate);
  }
  if (before_) Between(*before_, record);
  before_ = record;
}

void SelfChecks::Finish(SeriesSet& set) {
  const auto tokens = CompareConstant(
      "tokens_per_step",
      "tokens_per_second_per_device x seconds between time stamps / steps is constant",
      tokens_per_step_);
  if (tokens && std::isfinite(*tokens)) {
    set.run.facts["tokens_per_step_per_device"] = fmt::format("{:.0f}", *tokens);
    set.run.derived["tokens_per_step_per_device"] =
        "median of tokens/s of a device x seconds between time stamps / steps";
  }
  const auto devices = CompareConstant(
      "world_size",
      "global_batch_size x sequence_length / step_seconds / tokens per second of a "
      "device is constant",
      world_sizes_);
  if (devices && std::abs(*devices) < 1e9 && !set.run.world_size) {
    set.run.world_size = std::llround(*devices);
    set.run.derived["world_size"] =
        "global_batch_size x sequence_length / step_seconds / tokens per second of a "
        "device";
  }
  const auto eval_samples = CompareConstant(
      "eval_samples", "eval_runtime x eval_samples_per_second is constant",
      eval_samples_);
  if (eval_samples && std::isfinite(*eval_samples)) {
    set.run.facts["eval_samples"] = fmt::format("{:.0f}", *eval_samples);
    set.run.derived["eval_samples"] = "eval_runtime x eval_samples_per_second";
  }
  set.checks.insert(set.checks.end(), checks_.begin(), checks_.end());
}

}  // namespace stepslack::logs

#include "derived_series.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace stepslack::logs {
namespace {

// The one whole number that all points of a series have.
std::optional<int64_t> Constant(const SeriesSet& set, std::string_view metric) {
  const Series* series = set.Find(metric);
  if (series == nullptr || series->points.empty()) return std::nullopt;
  const double first = series->points.front().value;
  for (const Point& point : series->points) {
    if (point.value != first) return std::nullopt;
  }
  if (!(first >= 1 && first < 9e15) || first != std::floor(first)) return std::nullopt;
  return static_cast<int64_t>(first);
}

void FillSamples(SeriesSet& set) {
  if (!set.run.global_batch_size) return;
  const int64_t batch = *set.run.global_batch_size;
  for (Series& series : set.series) {
    const bool logged =
        std::any_of(series.points.begin(), series.points.end(),
                    [](const Point& point) { return point.samples.has_value(); });
    if (logged || !series.step_source.empty()) continue;
    for (Point& point : series.points) {
      if (point.step < 0 || point.step > std::numeric_limits<int64_t>::max() / batch)
        continue;
      point.samples = point.step * batch;
      series.samples_how = "step x global_batch_size";
    }
  }
}

const Series* SeriesWithTimes(const SeriesSet& set) {
  const Series* best = nullptr;
  for (const Series& series : set.series) {
    if (!series.step_source.empty() || series.points.size() < 2) continue;
    if (!series.points.front().time_ns || series.derived) continue;
    if (best == nullptr || series.metric == kLoss) best = &series;
  }
  return best;
}

std::optional<Series> SecondsFromTimes(const SeriesSet& set) {
  if (set.Find(kStepSeconds) != nullptr) return std::nullopt;
  const Series* source = SeriesWithTimes(set);
  if (source == nullptr) return std::nullopt;
  Series seconds{.metric = std::string(kStepSeconds), .known = true, .unit = "s"};
  seconds.derived = true;
  seconds.original = source->original;
  seconds.how = "time between two records of " + source->original + " / steps between";
  for (size_t i = 1; i < source->points.size(); ++i) {
    const Point& before = source->points[i - 1];
    Point point = source->points[i];
    if (point.segment != before.segment || point.step <= before.step) continue;
    if (!point.time_ns || !before.time_ns || *point.time_ns < *before.time_ns) continue;
    const double steps =
        static_cast<double>(point.step) - static_cast<double>(before.step);
    // Readers keep times within +-2^61 ns, so the difference fits.
    const auto elapsed_ns = static_cast<double>(*point.time_ns - *before.time_ns);
    point.value = elapsed_ns / 1e9 / steps;
    seconds.points.push_back(point);
  }
  if (seconds.points.empty()) return std::nullopt;
  return seconds;
}

// Points of `over` divided into `amount` of a step.
std::optional<Series> Rate(const Series& over, double amount, std::string_view metric,
                           std::string_view unit, std::string_view how) {
  Series rate{.metric = std::string(metric), .known = true, .unit = std::string(unit)};
  rate.derived = true;
  rate.original = over.original;
  rate.how = how;
  for (Point point : over.points) {
    if (!(point.value > 0)) continue;
    point.value = amount / point.value;
    rate.points.push_back(point);
  }
  if (rate.points.empty()) return std::nullopt;
  return rate;
}

}  // namespace

void AddDerived(SeriesSet& set) {
  RunMeta& run = set.run;
  if (!run.global_batch_size) run.global_batch_size = Constant(set, kBatch);
  if (!run.sequence_length) run.sequence_length = Constant(set, kSequenceLength);
  if (set.Find(kSamples) == nullptr) FillSamples(set);
  if (auto seconds = SecondsFromTimes(set)) set.series.push_back(std::move(*seconds));
  const Series* seconds = set.Find(kStepSeconds);
  std::vector<Series> rates;
  if (seconds != nullptr && run.global_batch_size) {
    const auto batch = static_cast<double>(*run.global_batch_size);
    if (set.Find(kSamplesPerSecond) == nullptr) {
      if (auto rate = Rate(*seconds, batch, kSamplesPerSecond, "samples/s",
                           "global_batch_size / step_seconds")) {
        rates.push_back(std::move(*rate));
      }
    }
    if (set.Find(kTokensPerSecond) == nullptr && run.sequence_length) {
      if (auto rate = Rate(*seconds, batch * static_cast<double>(*run.sequence_length),
                           kTokensPerSecond, "tokens/s",
                           "global_batch_size x sequence_length / step_seconds")) {
        rates.push_back(std::move(*rate));
      }
    }
  }
  for (Series& rate : rates) set.series.push_back(std::move(rate));
  for (const Series& series : set.series) {
    for (const Point& point : series.points) {
      run.segments = std::max(run.segments, int64_t{point.segment} + 1);
    }
  }
}

}  // namespace stepslack::logs

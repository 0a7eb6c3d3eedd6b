#include "stepslack/analyze/projection.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace stepslack::analyze {
namespace {

constexpr double kFactor80 = 1.6;  // as of ScaleModel, for time to accuracy
constexpr int kBisections = 60;
constexpr double kTokensOfGpt3 = 2048;

double Relative(double high, double value) { return std::log(high / value); }

// The batch at which the model has this throughput, between two batches.
double BatchFor(const ScaleModel& model, double n, double throughput, double low,
                double high) {
  if (low > high) std::swap(low, high);
  for (int i = 0; i < kBisections; ++i) {
    const double middle = std::sqrt(low * high);
    const double rate = middle / model.StepSeconds(n, middle).value;
    (rate < throughput ? low : high) = middle;
  }
  return std::sqrt(low * high);
}

struct Rates {
  double batch = 0;
  Interval80 step;
  Interval80 throughput;
};

Rates AtBatch(const ScaleModel& model, double n, double batch) {
  const Interval80 step = model.StepSeconds(n, batch);
  return {batch, step, {batch / step.value, batch / step.high, batch / step.low}};
}

Rates WithoutBatch(const ScaleModel& model, double n) {
  const double held = model.BatchAt(n);
  if (model.Measured(n)) return AtBatch(model, n, held);
  const auto [below, above] = model.PlausibleBatches(n);
  const Rates strong = AtBatch(model, n, below);
  const Rates weak = AtBatch(model, n, above);
  const auto [low, high] = std::minmax(strong.throughput.value, weak.throughput.value);
  Rates rates;
  const double middle = std::clamp(model.AmdahlThroughput(n), low, high);
  rates.batch = BatchFor(model, n, middle, strong.batch, weak.batch);
  rates.throughput = {middle, std::min(strong.throughput.low, weak.throughput.low),
                      std::max(strong.throughput.high, weak.throughput.high)};
  const double step = rates.batch / middle;
  rates.step = {step, std::min(strong.step.low, weak.step.low),
                std::max(strong.step.high, weak.step.high)};
  return rates;
}

Predicted TimeToTarget(const SamplesModel& samples, const Rates& rates) {
  const double minutes = samples.Samples(rates.batch) / rates.throughput.value / 60;
  const double of_samples = kFactor80 * samples.LogDeviation(rates.batch);
  const double up =
      std::hypot(of_samples, Relative(rates.throughput.value, rates.throughput.low));
  const double down =
      std::hypot(of_samples, Relative(rates.throughput.high, rates.throughput.value));
  return {{minutes, minutes * std::exp(-down), minutes * std::exp(up)}, false};
}

void AddCosts(const ProjectOptions& options, Prediction& prediction) {
  const double n = static_cast<double>(prediction.world_size);
  if (options.mtbf_hours) {
    prediction.failures =
        YoungDaly(*options.mtbf_hours * 3600 / n, options.checkpoint_seconds,
                  options.restart_seconds);
  }
  if (!prediction.ttt_min) return;
  const double slowdown = prediction.failures ? prediction.failures->slowdown : 1;
  const double worker_hours = n * prediction.ttt_min->range.value * slowdown / 60;
  if (options.watts) prediction.energy_kwh = worker_hours * *options.watts / 1000;
  if (options.price_hour) prediction.cost = worker_hours * *options.price_hour;
}

std::optional<int64_t> Knee(const ScaleModel& model, const ProjectOptions& options) {
  int64_t most = model.largest();
  for (const int64_t n : options.world_sizes) most = std::max(most, n);
  const double batch = model.BatchAt(static_cast<double>(model.largest()));
  std::optional<int64_t> knee;
  for (int64_t n = model.smallest(); n <= most; n *= 2) {
    const double here = AtBatch(model, static_cast<double>(n), batch).throughput.value;
    const double twice =
        AtBatch(model, 2 * static_cast<double>(n), batch).throughput.value;
    if (twice / here - 1 < options.knee_bound) break;
    knee = n;
  }
  return knee;
}

Prediction PredictOne(const ScaleModel& model, const FamilyProjection& projection,
                      const ProjectOptions& options, size_t index) {
  Prediction prediction;
  prediction.world_size = options.world_sizes[index];
  const double n = static_cast<double>(prediction.world_size);
  Rates rates;
  if (options.batches.empty()) {
    rates = WithoutBatch(model, n);
    prediction.batch_assumed = !model.Measured(n);
  } else {
    rates =
        AtBatch(model, n, options.batches[std::min(index, options.batches.size() - 1)]);
  }
  const bool beyond = prediction.world_size < model.smallest() ||
                      prediction.world_size > model.largest();
  prediction.global_batch = rates.batch;
  prediction.step_seconds = {rates.step, beyond};
  const double units = projection.family.units_per_sample;
  prediction.throughput = {
      {rates.throughput.value * units, rates.throughput.low * units,
       rates.throughput.high * units},
      beyond};
  if (projection.samples) {
    prediction.ttt_min = TimeToTarget(*projection.samples, rates);
    prediction.ttt_min->extrapolated = beyond;
    prediction.reason = projection.samples->reason;
  } else {
    prediction.reason = "samples to the target are not known";
  }
  AddCosts(options, prediction);
  return prediction;
}

}  // namespace

FailureLoss YoungDaly(double mtbf_seconds, double checkpoint_seconds,
                      double restart_seconds) {
  FailureLoss loss;
  loss.mtbf_seconds = mtbf_seconds;
  loss.interval_seconds = std::sqrt(2 * checkpoint_seconds * mtbf_seconds);
  // Daly 2006, eq. 20 for one segment: wall = M e^(R/M) (e^((tau + delta)/M) - 1).
  const double segment = loss.interval_seconds + checkpoint_seconds;
  loss.slowdown = mtbf_seconds * std::exp(restart_seconds / mtbf_seconds) *
                  std::expm1(segment / mtbf_seconds) / loss.interval_seconds;
  return loss;
}

std::vector<ScaleFamily> FamiliesOf(const RunSetReport& report,
                                    std::vector<std::string>& left_out) {
  std::map<std::string, ScaleFamily> families;
  for (const RunSet& set : report.sets) {
    if (!set.world_size || !set.global_batch || !set.throughput || !set.samples ||
        *set.throughput <= 0) {
      left_out.push_back(fmt::format(
          "{}: no {}", set.name,
          !set.world_size     ? "world size"
          : !set.global_batch ? "global batch"
                              : "throughput (too few runs reached the target)"));
      continue;
    }
    const std::string name = set.submitter + "/" + set.benchmark;
    ScaleFamily& family = families[name];
    family.name = name;
    family.basis = "global batch / throughput, evaluation included";
    family.unit = set.unit;
    const double tokens = set.unit == "tokens" ? kTokensOfGpt3 : 1;
    ScalePoint point;
    point.world_size = *set.world_size;
    family.units_per_sample = tokens;
    point.global_batch = static_cast<double>(*set.global_batch);
    point.step_seconds = point.global_batch * tokens / *set.throughput;
    point.samples = *set.samples / tokens;
    std::vector<double> logs;
    for (const size_t member : set.members) {
      const RunOutcome& run = report.runs[member];
      if (run.reached() && run.samples_to_target.value_or(0) > 0) {
        logs.push_back(std::log(static_cast<double>(*run.samples_to_target)));
      }
    }
    double mean = 0, squares = 0;
    for (const double x : logs) mean += x / static_cast<double>(logs.size());
    for (const double x : logs) squares += (x - mean) * (x - mean);
    if (logs.size() > 1) {
      const double n = static_cast<double>(logs.size());
      point.log_sd_samples = std::sqrt(squares / (n - 1) / n);
    }
    family.points.push_back(point);
  }
  std::vector<ScaleFamily> list;
  for (auto& [name, family] : families) list.push_back(std::move(family));
  return list;
}

ProjectionReport Project(std::vector<ScaleFamily> families,
                         const ProjectOptions& options) {
  ProjectionReport report;
  for (ScaleFamily& family : families) {
    FamilyProjection projection;
    projection.family = std::move(family);
    const auto model = ScaleModel::Fit(projection.family.points);
    if (!model.has_value()) {
      projection.no_projection = model.error().what;
    } else {
      projection.forms = model->forms();
      projection.misfit = model->misfit();
      projection.samples = FitSamples(projection.family.points);
      projection.knee = Knee(*model, options);
      for (size_t i = 0; i < options.world_sizes.size(); ++i) {
        projection.predictions.push_back(PredictOne(*model, projection, options, i));
      }
    }
    report.families.push_back(std::move(projection));
  }
  return report;
}

}  // namespace stepslack::analyze

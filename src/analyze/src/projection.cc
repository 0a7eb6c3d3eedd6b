#include "stepslack/analyze/projection.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace stepslack::analyze {
namespace {

constexpr double kFactor80 = 1.6;  // as of ScaleModel, for time to accuracy
constexpr double kTokensOfGpt3 = 2048;

struct Rates {
  double batch = 0;
  double low_batch = 0, high_batch = 0;  // equal to `batch` when it is told
  double log_half = 0;                   // of the step time at one batch
  Interval80 step;
  Interval80 throughput;
  std::string_view basis;
};

Rates AtBatch(const ScaleModel& model, double n, double batch) {
  const Interval80 step = model.StepSeconds(n, batch);
  return {batch, batch,
          batch, std::log(step.high / step.value),
          step,  {batch / step.value, batch / step.high, batch / step.low},
          {}};
}

// Step time and throughput grow with the batch: the bounds are those of its bounds.
Rates WithoutBatch(const ScaleModel& model, double n) {
  if (model.Measured(n)) return AtBatch(model, n, model.BatchAt(n));
  const AssumedBatch assumed = model.BatchAssumedAt(n);
  const Rates low = AtBatch(model, n, assumed.low);
  const Rates high = AtBatch(model, n, assumed.high);
  Rates rates = AtBatch(model, n, assumed.value);
  rates.basis = assumed.basis;
  rates.low_batch = assumed.low;
  rates.high_batch = assumed.high;
  rates.step.low = low.step.low;
  rates.step.high = high.step.high;
  rates.throughput.low = low.throughput.low;
  rates.throughput.high = high.throughput.high;
  return rates;
}

// A larger batch takes more samples at a higher rate: the interval reaches over the
// times at both bounds of the batch, widened by the errors of step and samples.
Predicted TimeToTarget(const ScaleModel& model, const SamplesModel& samples, double n,
                       const Rates& rates) {
  const auto minutes = [&](double batch) {
    return samples.Samples(batch) * model.StepSeconds(n, batch).value / batch / 60;
  };
  const double value = minutes(rates.batch);
  const auto [low, high] =
      std::minmax({value, minutes(rates.low_batch), minutes(rates.high_batch)});
  const double half =
      std::hypot(rates.log_half, kFactor80 * samples.LogDeviation(rates.batch));
  return {{value, low * std::exp(-half), high * std::exp(half)}, false};
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
    prediction.batch_basis = rates.basis;
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
    prediction.ttt_min = TimeToTarget(model, *projection.samples, n, rates);
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

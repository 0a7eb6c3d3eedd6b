#include "stepslack/analyze/scale_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace stepslack::analyze {
namespace {

using base::ExitCode;

// Pooled over the leave-the-next-scale-out residuals of ten development families
// (docs/projection.md): share covered there is the 80 % that the interval states.
constexpr double kFloor = 0.03;  // of the log, whatever the fit says
constexpr double kDrift = 0.02;  // of the log, for each doubling past the measured
constexpr double kFactor = 1.6;  // half width in deviations
constexpr double kSamplesDrift = 0.15;  // of the log, each doubling of an unknown S(B)
// d log S / d log B where the families that held their batch first moved it: 0.18 to
// 0.45, mean 0.32 (docs/projection.md).
constexpr double kSamplesGrowth = 1.0 / 3;
// Below this many samples a worker, a sample is already divided among workers.
constexpr double kDividedSample = 0.5;
constexpr int kBisections = 60;

enum FormId { kConstant, kLog, kLogConstant, kQuarter, kThird, kForms };
constexpr std::array<std::string_view, kForms> kNames = {
    "c b + d", "c b + d log2 N", "c b + d log2 N + e", "c b + d N^(1/4)",
    "c b + d N^(1/3)"};

std::vector<double> Terms(int form, double n, double batch) {
  const double b = batch / n;
  switch (form) {
    case kConstant:
      return {b, 1};
    case kLog:
      return {b, std::log2(n)};
    case kLogConstant:
      return {b, std::log2(n), 1};
    case kQuarter:
      return {b, std::pow(n, 0.25)};
    default:
      return {b, std::cbrt(n)};
  }
}

double Dot(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// Gauss with partial pivots on the normal equations of the columns in `active`; empty
// when they are dependent. Columns are scaled to unit length first.
std::vector<double> Solve(const std::vector<std::vector<double>>& x,
                          std::span<const double> y, std::span<const double> weight,
                          const std::vector<size_t>& active) {
  const size_t k = active.size();
  std::vector<double> scale(k, 0);
  for (size_t i = 0; i < k; ++i) {
    for (size_t r = 0; r < y.size(); ++r) {
      scale[i] += weight[r] * x[r][active[i]] * x[r][active[i]];
    }
    scale[i] = std::sqrt(scale[i]);
    if (!(scale[i] > 0)) return {};
  }
  std::vector<std::vector<double>> a(k, std::vector<double>(k + 1, 0));
  for (size_t i = 0; i < k; ++i) {
    for (size_t r = 0; r < y.size(); ++r) {
      const double left = weight[r] * x[r][active[i]] / scale[i];
      for (size_t j = 0; j < k; ++j) a[i][j] += left * x[r][active[j]] / scale[j];
      a[i][k] += left * y[r];
    }
  }
  for (size_t i = 0; i < k; ++i) {
    size_t pivot = i;
    for (size_t q = i + 1; q < k; ++q) {
      if (std::abs(a[q][i]) > std::abs(a[pivot][i])) pivot = q;
    }
    std::swap(a[i], a[pivot]);
    if (std::abs(a[i][i]) < 1e-10) return {};
    for (size_t q = 0; q < k; ++q) {
      if (q == i) continue;
      const double f = a[q][i] / a[i][i];
      for (size_t j = i; j <= k; ++j) a[q][j] -= f * a[i][j];
    }
  }
  std::vector<double> solution(k);
  for (size_t i = 0; i < k; ++i) solution[i] = a[i][k] / a[i][i] / scale[i];
  return solution;
}

bool Usable(const ScalePoint& p) {
  return p.world_size >= 1 && std::isfinite(p.global_batch) && p.global_batch > 0 &&
         std::isfinite(p.step_seconds) && p.step_seconds > 0;
}

}  // namespace

std::vector<double> NonNegativeLeastSquares(const std::vector<std::vector<double>>& x,
                                            std::span<const double> y,
                                            std::span<const double> weight) {
  const size_t columns = x.empty() ? 0 : std::min<size_t>(x.front().size(), 8);
  std::vector<double> best(columns, 0);
  std::optional<double> least;
  for (size_t mask = 1; mask < (size_t{1} << columns); ++mask) {
    std::vector<size_t> active;
    for (size_t i = 0; i < columns; ++i) {
      if ((mask >> i) & 1) active.push_back(i);
    }
    const std::vector<double> solution = Solve(x, y, weight, active);
    if (solution.empty() || std::ranges::min(solution) < 0) continue;
    std::vector<double> full(columns, 0);
    for (size_t i = 0; i < active.size(); ++i) full[active[i]] = solution[i];
    double error = 0;
    for (size_t r = 0; r < y.size(); ++r) {
      const double miss = y[r] - Dot(x[r], full);
      error += weight[r] * miss * miss;
    }
    if (!least || error < *least - 1e-15) {
      least = error;
      best = full;
    }
  }
  return best;
}

base::Result<ScaleModel> ScaleModel::Fit(std::span<const ScalePoint> points) {
  ScaleModel model;
  model.points_.assign(points.begin(), points.end());
  std::ranges::stable_sort(model.points_, {}, &ScalePoint::world_size);
  for (const ScalePoint& p : model.points_) {
    if (Usable(p)) continue;
    return base::Fail("PROJ-0002", ExitCode::kInput,
                      "world size, batch and step time must be positive numbers",
                      fmt::format("world size {}: batch {}, {} s a step", p.world_size,
                                  p.global_batch, p.step_seconds),
                      "remove this scale, or correct it");
  }
  if (points.empty() ||
      model.points_.front().world_size == model.points_.back().world_size) {
    return base::Fail("PROJ-0001", ExitCode::kInput,
                      "a projection needs two world sizes or more",
                      fmt::format("{} measured", points.empty() ? 0 : 1),
                      "add runs of the same training at another world size");
  }
  model.smallest_ = model.points_.front().world_size;
  model.largest_ = model.points_.back().world_size;

  const size_t rows = model.points_.size();
  std::vector<double> y(rows), weight(rows), per_sample(rows), sample_weight(rows);
  std::vector<std::vector<double>> serial;
  for (size_t r = 0; r < rows; ++r) {
    const ScalePoint& p = model.points_[r];
    y[r] = p.step_seconds;
    weight[r] = 1 / (y[r] * y[r]);
    per_sample[r] = p.step_seconds / p.global_batch;
    sample_weight[r] = 1 / (per_sample[r] * per_sample[r]);
    serial.push_back({1, 1 / static_cast<double>(p.world_size)});
  }
  const auto amdahl = NonNegativeLeastSquares(serial, per_sample, sample_weight);
  model.amdahl_ = {amdahl[0], amdahl[1]};

  double squares = 0;
  for (int form = 0; form < kForms; ++form) {
    std::vector<std::vector<double>> x;
    for (const ScalePoint& p : model.points_) {
      x.push_back(Terms(form, static_cast<double>(p.world_size), p.global_batch));
    }
    model.forms_.push_back(
        {kNames[static_cast<size_t>(form)], NonNegativeLeastSquares(x, y, weight)});
    for (size_t r = 0; r < rows; ++r) {
      const double miss = std::log(Dot(x[r], model.forms_.back().coefficients) / y[r]);
      // A form that is 0 here (only a world size of one and log2 N) says nothing.
      squares += std::isfinite(miss) ? miss * miss : 1;
    }
  }
  model.misfit_ = std::sqrt(squares / static_cast<double>(rows * kForms));
  return model;
}

double ScaleModel::LogDeviation(double world_size) const {
  const double past =
      std::max({0.0, std::log2(world_size / static_cast<double>(largest_)),
                std::log2(static_cast<double>(smallest_) / world_size)});
  return std::sqrt(kFloor * kFloor + misfit_ * misfit_ + kDrift * kDrift * past * past);
}

Interval80 ScaleModel::StepSeconds(double world_size, double global_batch) const {
  double sum = 0;
  int used = 0;
  for (int form = 0; form < kForms; ++form) {
    const double seconds = Dot(Terms(form, world_size, global_batch),
                               forms_[static_cast<size_t>(form)].coefficients);
    if (!(seconds > 0)) continue;
    sum += std::log(seconds);
    ++used;
  }
  const double value = std::exp(sum / std::max(used, 1));
  const double half = kFactor * LogDeviation(world_size);
  return {value, value * std::exp(-half), value * std::exp(half)};
}

bool ScaleModel::Measured(double world_size) const {
  return std::ranges::any_of(points_, [&](const ScalePoint& p) {
    return static_cast<double>(p.world_size) == world_size;
  });
}

double ScaleModel::BatchAt(double world_size) const {
  double batch = points_.back().global_batch;
  for (const ScalePoint& p : points_) {
    if (static_cast<double>(p.world_size) == world_size) return p.global_batch;
  }
  return batch;
}

double ScaleModel::AmdahlThroughput(double world_size) const {
  return 1 / (amdahl_[0] + amdahl_[1] / world_size);
}

// The throughput grows with the batch.
double ScaleModel::BatchWithRate(double world_size, double rate, double low,
                                 double high) const {
  for (int i = 0; i < kBisections; ++i) {
    const double middle = std::sqrt(low * high);
    const bool below = middle / StepSeconds(world_size, middle).value < rate;
    (below ? low : high) = middle;
  }
  return std::sqrt(low * high);
}

AssumedBatch ScaleModel::BatchAssumedAt(double world_size) const {
  const auto above = std::ranges::find_if(points_, [&](const ScalePoint& p) {
    return static_cast<double>(p.world_size) >= world_size;
  });
  if (above != points_.end() && above != points_.begin()) {
    const ScalePoint& below = *std::prev(above);
    const double from = static_cast<double>(below.world_size);
    const double share = std::log(world_size / from) /
                         std::log(static_cast<double>(above->world_size) / from);
    const double batch =
        below.global_batch * std::pow(above->global_batch / below.global_batch, share);
    const auto [low, high] = std::minmax(below.global_batch, above->global_batch);
    return {batch, low, high, "between those of the scales around it"};
  }
  const ScalePoint& end = above == points_.end() ? points_.back() : points_.front();
  const double growth = world_size / static_cast<double>(end.world_size);
  const double weak = end.global_batch * growth;
  const auto [low, high] = std::minmax(end.global_batch, weak);
  if (end.global_batch / static_cast<double>(end.world_size) < kDividedSample) {
    return {weak, low, high,
            "the per-rank batch of the nearest scale: less than half a sample"};
  }
  return {BatchWithRate(world_size, AmdahlThroughput(world_size), low, high), low, high,
          "the one that has the throughput of Amdahl's law"};
}

double SamplesModel::Samples(double batch) const {
  if (!held) return intercept + slope * batch;
  return intercept * std::pow(std::max(batch / reference_batch, 1.0), kSamplesGrowth);
}

double SamplesModel::LogDeviation(double batch) const {
  if (!held) return log_deviation;
  const double doublings = std::abs(std::log2(batch / reference_batch));
  return std::hypot(log_deviation, kSamplesDrift * doublings);
}

std::optional<SamplesModel> FitSamples(std::span<const ScalePoint> points) {
  std::vector<std::vector<double>> x;
  std::vector<double> y, weight;
  SamplesModel model;
  double error = 0, logs = 0, smallest = 0, largest = 0;
  for (const ScalePoint& p : points) {
    if (!(p.samples > 0) || !(p.global_batch > 0)) continue;
    smallest = x.empty() ? p.global_batch : std::min(smallest, p.global_batch);
    largest = std::max(largest, p.global_batch);
    x.push_back({1, p.global_batch});
    y.push_back(p.samples);
    weight.push_back(1 / (p.samples * p.samples));
    error += p.log_sd_samples * p.log_sd_samples;
    logs += std::log(p.samples);
    model.reference_batch = p.global_batch;
  }
  if (x.empty()) return std::nullopt;
  const double n = static_cast<double>(x.size());
  const std::vector<double> c = NonNegativeLeastSquares(x, y, weight);
  if (largest < 1.05 * smallest) {
    model.held = true;
    model.intercept = std::exp(logs / n);
    model.reason =
        "the batch does not vary: no critical batch; above it samples are assumed to "
        "grow as its cube root";
  } else {
    model.intercept = c[0];
    model.slope = c[1];
    if (c[0] > 0 && c[1] > 0) {
      model.critical_batch = c[0] / c[1];
    } else {
      model.reason = c[1] > 0 ? "samples grow as the batch or faster: the critical "
                                "batch lies below those measured"
                              : "samples do not grow with the batch as measured";
    }
  }
  double squares = 0;
  for (size_t i = 0; i < y.size(); ++i) {
    squares += std::pow(std::log(y[i] / model.Samples(x[i][1])), 2);
  }
  model.log_deviation = std::sqrt(squares / n + error / n);
  return model;
}

}  // namespace stepslack::analyze

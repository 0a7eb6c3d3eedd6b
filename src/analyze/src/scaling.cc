#include "stepslack/analyze/scaling.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "block_estimate.h"
#include "run_measure.h"
#include "stepslack/stats/intervals.h"

namespace stepslack::analyze {
namespace {

using base::Estimate;

constexpr int kLargestWorld = 1'000'000;
constexpr int64_t kLargestBatch = 1'000'000'000;

// A group with its runs measured; `measures[i]` is absent when run i cannot be used.
struct Measured {
  const ScalingGroup* group = nullptr;
  std::vector<std::optional<RunMeasure>> measures;
  int64_t global_batch = 0;

  int64_t usable() const {
    return std::count_if(measures.begin(), measures.end(),
                         [](const auto& m) { return m.has_value(); });
  }
};

// Value lists of a group and its partner, aligned when they are paired.
struct Sides {
  std::vector<double> a;
  std::vector<double> b;
  bool paired = false;
};

using Field = std::optional<double> (*)(const Measured&, size_t);

std::optional<double> RatePerRank(const Measured& m, size_t i) {
  if (!m.measures[i]) return std::nullopt;
  return m.measures[i]->throughput / m.group->world_size;
}

std::optional<double> Rate(const Measured& m, size_t i) {
  if (!m.measures[i]) return std::nullopt;
  return m.measures[i]->throughput;
}

std::optional<double> InverseSamplesToTarget(const Measured& m, size_t i) {
  const record::RunSummary& summary = m.group->runs[i]->summary;
  if (!summary.target_reached || summary.samples_to_target <= 0) return std::nullopt;
  return 1 / static_cast<double>(summary.samples_to_target);
}

// Hardware rate times statistical rate: what a second of one rank buys.
std::optional<double> UsefulRate(const Measured& m, size_t i) {
  const auto rate = RatePerRank(m, i);
  const auto statistical = InverseSamplesToTarget(m, i);
  if (!rate || !statistical) return std::nullopt;
  return *rate * *statistical;
}

Sides Align(const Measured& a, const Measured& b, Field field) {
  Sides sides;
  sides.paired = a.group->runs.size() == b.group->runs.size();
  const auto all = [field](const Measured& m, std::vector<double>& out) {
    for (size_t i = 0; i < m.group->runs.size(); ++i) {
      if (const auto value = field(m, i)) out.push_back(*value);
    }
  };
  if (!sides.paired) {
    all(a, sides.a);
    all(b, sides.b);
    return sides;
  }
  for (size_t i = 0; i < a.group->runs.size(); ++i) {
    const auto left = field(a, i);
    const auto right = field(b, i);
    if (!left || !right) continue;
    sides.a.push_back(*left);
    sides.b.push_back(*right);
  }
  return sides;
}

Estimate RatioOf(const Measured& a, const Measured& b, Field field, double confidence) {
  const Sides sides = Align(a, b, field);
  Estimate ratio = sides.paired
                       ? stats::PairedLogRatioInterval(sides.a, sides.b,
                                                       "paired repeats", confidence)
                       : stats::LogRatioInterval(sides.a, sides.b, "runs", confidence);
  if (!sides.paired)
    ratio.method += "; repeats differ in number, so they are not paired";
  return ratio;
}

class ScalingBuilder {
 public:
  explicit ScalingBuilder(const ScalingOptions& options) : options_(options) {}
  ScalingReport Run(std::span<const ScalingGroup> groups);

 private:
  Measured Measure(const ScalingGroup& group);
  const Measured* Baseline(const Measured& of) const;
  const Measured* WithoutComm(const Measured& of) const;
  ScalingPoint Point(const Measured& measured);
  void AddEfficiency(const Measured& measured, const Measured& baseline,
                     ScalingPoint& point);
  void AddLossEvidence(const Measured& measured, const Measured& baseline,
                       ScalingPoint& point) const;
  Estimate Statistical(const Measured& measured, const Measured& baseline,
                       const ScalingPoint& point) const;
  EfficiencyLoss Loss(const Measured& measured, const Measured& baseline) const;
  void Remark(const Measured& measured, std::string_view text);

  ScalingOptions options_;
  std::vector<Measured> measured_;
  ScalingReport report_;
};

void ScalingBuilder::Remark(const Measured& measured, std::string_view text) {
  report_.remarks.push_back(fmt::format(
      "{} scaling, {} ranks, batch {} per rank{}: {}", ToString(measured.group->rule),
      measured.group->world_size, measured.group->per_rank_batch,
      measured.group->synchronise ? "" : ", no communication", text));
}

Measured ScalingBuilder::Measure(const ScalingGroup& group) {
  Measured measured;
  measured.group = &group;
  std::vector<double> batches;
  for (size_t i = 0; i < group.runs.size(); ++i) {
    std::string why;
    std::optional<RunMeasure> one;
    if (group.runs[i]->summary.world_size != group.world_size) {
      why = fmt::format("it ran with {} ranks", group.runs[i]->summary.world_size);
    } else {
      one = MeasureRun(*group.runs[i], options_.warmup_steps, &why);
    }
    if (one) batches.push_back(one->global_batch);
    if (!one) Remark(measured, fmt::format("repeat {} is not used: {}", i + 1, why));
    measured.measures.push_back(std::move(one));
  }
  measured.global_batch = batches.empty() ? group.per_rank_batch * group.world_size
                                          : std::llround(Median(std::move(batches)));
  return measured;
}

const Measured* ScalingBuilder::Baseline(const Measured& of) const {
  const Measured* other_rule = nullptr;
  for (const Measured& candidate : measured_) {
    const ScalingGroup& group = *candidate.group;
    if (group.world_size != 1 || !group.synchronise || candidate.usable() == 0)
      continue;
    const bool fits = of.group->rule == ScalingRule::kStrong
                          ? candidate.global_batch == of.global_batch
                          : group.per_rank_batch == of.group->per_rank_batch;
    if (!fits) continue;
    if (group.rule == of.group->rule) return &candidate;
    if (other_rule == nullptr) other_rule = &candidate;
  }
  return other_rule;
}

const Measured* ScalingBuilder::WithoutComm(const Measured& of) const {
  for (const Measured& candidate : measured_) {
    const ScalingGroup& group = *candidate.group;
    if (!group.synchronise && candidate.usable() > 0 &&
        group.world_size == of.group->world_size &&
        group.per_rank_batch == of.group->per_rank_batch) {
      return &candidate;
    }
  }
  return nullptr;
}

// Largest relative difference of rank 0's loss at equal steps over the pairs.
void ScalingBuilder::AddLossEvidence(const Measured& measured, const Measured& baseline,
                                     ScalingPoint& point) const {
  const size_t pairs =
      std::min(measured.group->runs.size(), baseline.group->runs.size());
  for (size_t i = 0; i < pairs; ++i) {
    const auto& ours = measured.group->runs[i]->steps;
    const auto& theirs = baseline.group->runs[i]->steps;
    if (ours.empty() || theirs.empty()) continue;
    std::map<int64_t, double> losses;
    for (const record::StepRecord& record : theirs.front()) {
      if (static_cast<int64_t>(losses.size()) >= options_.loss_steps) break;
      losses[record.step] = record.loss;
    }
    for (const record::StepRecord& record : ours.front()) {
      const auto found = losses.find(record.step);
      if (found == losses.end() || !std::isfinite(found->second) ||
          found->second == 0) {
        continue;
      }
      const double difference =
          std::abs(record.loss - found->second) / std::abs(found->second);
      ++point.loss_steps_compared;
      const double so_far = point.max_relative_loss_difference.value_or(0);
      // A loss that is not a number differs without bound; keep it finite for reports.
      point.max_relative_loss_difference =
          std::isfinite(difference) ? std::max(so_far, difference) : 1e300;
    }
  }
}

Estimate ScalingBuilder::Statistical(const Measured& measured, const Measured& baseline,
                                     const ScalingPoint& point) const {
  const auto reached = [](const Measured& m) {
    return std::count_if(m.group->runs.begin(), m.group->runs.end(),
                         [](const auto* run) { return run->summary.target_reached; });
  };
  const int64_t ours = reached(measured);
  const int64_t theirs = reached(baseline);
  const int64_t our_runs = static_cast<int64_t>(measured.group->runs.size());
  const int64_t their_runs = static_cast<int64_t>(baseline.group->runs.size());
  if (ours == our_runs && theirs == their_runs) {
    Estimate ratio =
        RatioOf(measured, baseline, InverseSamplesToTarget, options_.confidence);
    ratio.method = "samples to target, one rank over this: " + ratio.method;
    return ratio;
  }
  if (ours + theirs > 0) {
    return Unknown("1",
                   fmt::format("target reached in {} of {} runs here and {} of {} on "
                               "one rank: samples to target cannot be compared",
                               ours, our_runs, theirs, their_runs));
  }
  if (measured.global_batch != baseline.global_batch) {
    return Unknown("1", "no run has a target, and the global batches differ");
  }
  if (!point.max_relative_loss_difference) {
    return Unknown("1", "no run has a target, and no equal steps to compare");
  }
  const double difference = *point.max_relative_loss_difference;
  if (difference > options_.max_loss_difference) {
    return Unknown("1",
                   fmt::format("equal global batch, but losses differ by up to {:.3g} "
                               "at equal steps (allowed {:.3g})",
                               difference, options_.max_loss_difference));
  }
  return base::Exact(
      1, "1", point.loss_steps_compared, "equal steps",
      fmt::format("by equal global batch; losses differ by at most {:.3g} "
                  "at equal steps",
                  difference));
}

// The parts of one run against a reference, in percentage points of this run's time.
struct LossParts {
  double total = 0;
  double compute = 0;
  double exposed_comm = 0;
  double data = 0;
};

LossParts PartsOf(const RunMeasure& run, const RunMeasure& reference) {
  const double scale = 100 / run.total;
  return {.total = scale * (run.total - reference.total),
          .compute = scale * (run.compute - reference.compute),
          .exposed_comm = scale * (run.exposed_comm - reference.exposed_comm),
          .data = scale * (run.data - reference.data)};
}

RunMeasure MeanOf(const Measured& group) {
  RunMeasure mean;
  const double n = static_cast<double>(group.usable());
  for (const auto& one : group.measures) {
    if (!one) continue;
    mean.total += one->total / n;
    mean.compute += one->compute / n;
    mean.exposed_comm += one->exposed_comm / n;
    mean.data += one->data / n;
  }
  return mean;
}

EfficiencyLoss ScalingBuilder::Loss(const Measured& measured,
                                    const Measured& baseline) const {
  const bool paired = measured.measures.size() == baseline.measures.size();
  std::vector<double> total, compute, exposed, data, other;
  for (size_t i = 0; i < measured.measures.size(); ++i) {
    if (!measured.measures[i] || (paired && !baseline.measures[i])) continue;
    const LossParts parts = PartsOf(*measured.measures[i],
                                    paired ? *baseline.measures[i] : MeanOf(baseline));
    total.push_back(parts.total);
    compute.push_back(parts.compute);
    exposed.push_back(parts.exposed_comm);
    data.push_back(parts.data);
    other.push_back(parts.total - parts.compute - parts.exposed_comm - parts.data);
  }
  const auto mean = [&](const std::vector<double>& values) {
    Estimate estimate =
        stats::MeanInterval(values, "percentage points",
                            paired ? "paired repeats" : "runs", options_.confidence);
    if (!paired) estimate.method += ", against the mean of the one-rank runs";
    return estimate;
  };
  return {.total = mean(total),
          .compute = mean(compute),
          .exposed_comm = mean(exposed),
          .data = mean(data),
          .other = mean(other)};
}

void ScalingBuilder::AddEfficiency(const Measured& measured, const Measured& baseline,
                                   ScalingPoint& point) {
  const double level = options_.confidence;
  if (&measured == &baseline) {
    const Estimate one =
        base::Exact(1, "1", point.repeats, "runs", "this is the baseline");
    point.speedup = point.hardware = point.statistical = point.efficiency = one;
    const Estimate zero = base::Exact(0, "percentage points", point.repeats, "runs",
                                      "this is the baseline");
    point.loss = {zero, zero, zero, zero, zero};
    return;
  }
  point.speedup = RatioOf(measured, baseline, Rate, level);
  point.hardware = RatioOf(measured, baseline, RatePerRank, level);
  point.loss = Loss(measured, baseline);
  AddLossEvidence(measured, baseline, point);
  point.statistical = Statistical(measured, baseline, point);
  if (!point.statistical.value) {
    point.efficiency =
        Unknown("1", "statistical efficiency is unknown: " + point.statistical.method);
  } else if (point.statistical.confidence >= 1) {
    point.efficiency = point.hardware;
    point.efficiency.method += "; Es = 1 " + point.statistical.method;
  } else {
    point.efficiency = RatioOf(measured, baseline, UsefulRate, level);
    point.efficiency.method = "Es * Eh of each pair: " + point.efficiency.method;
  }
}

ScalingPoint ScalingBuilder::Point(const Measured& measured) {
  ScalingPoint point;
  point.world_size = measured.group->world_size;
  point.per_rank_batch = measured.group->per_rank_batch;
  point.global_batch = measured.global_batch;
  point.rule = measured.group->rule;
  point.repeats = measured.usable();
  std::vector<double> balance;
  std::vector<double> rank_compute(static_cast<size_t>(point.world_size), 0.0);
  if (point.repeats == 0) rank_compute.clear();
  for (const auto& one : measured.measures) {
    if (!one) continue;
    point.throughputs.push_back(one->throughput);
    balance.push_back(one->load_balance);
    for (size_t r = 0;
         r < std::min(rank_compute.size(), one->rank_compute_seconds.size()); ++r) {
      rank_compute[r] +=
          one->rank_compute_seconds[r] / static_cast<double>(point.repeats);
    }
  }
  const double level = options_.confidence;
  point.throughput =
      stats::GeometricMeanInterval(point.throughputs, "samples/s", "runs", level);
  point.load_balance = stats::MeanInterval(balance, "1", "runs", level);
  if (point.world_size > 1 && !rank_compute.empty()) {
    point.slowest_rank =
        static_cast<int>(std::max_element(rank_compute.begin(), rank_compute.end()) -
                         rank_compute.begin());
  }
  point.rank_compute_seconds = std::move(rank_compute);
  if (const Measured* baseline = Baseline(measured)) {
    AddEfficiency(measured, *baseline, point);
  } else {
    const std::string why = "no one-rank runs with this batch to compare with";
    Remark(measured, why);
    point.speedup = point.hardware = point.statistical = point.efficiency =
        Unknown("1", why);
    const Estimate none = Unknown("percentage points", why);
    point.loss = {none, none, none, none, none};
  }
  const Measured* silent = WithoutComm(measured);
  point.versus_no_comm =
      silent != nullptr
          ? RatioOf(measured, *silent, Rate, level)
          : Unknown("1", "no run without communication at this size and batch");
  return point;
}

ScalingReport ScalingBuilder::Run(std::span<const ScalingGroup> groups) {
  for (const ScalingGroup& group : groups) measured_.push_back(Measure(group));
  for (const Measured& measured : measured_) {
    if (measured.group->synchronise) report_.points.push_back(Point(measured));
  }
  std::stable_sort(report_.points.begin(), report_.points.end(),
                   [](const ScalingPoint& a, const ScalingPoint& b) {
                     const auto key = [](const ScalingPoint& p) {
                       const int64_t batch = p.rule == ScalingRule::kStrong
                                                 ? p.global_batch
                                                 : p.per_rank_batch;
                       return std::tuple(p.rule, batch, p.world_size);
                     };
                     return key(a) < key(b);
                   });
  return std::move(report_);
}

}  // namespace

std::string_view ToString(ScalingRule rule) {
  return rule == ScalingRule::kStrong ? "strong" : "weak";
}

base::Result<ScalingReport> ComputeScaling(std::span<const ScalingGroup> groups,
                                           const ScalingOptions& options) {
  bool any_run = false;
  for (const ScalingGroup& group : groups) {
    any_run = any_run || !group.runs.empty();
    if (group.world_size <= 0 || group.world_size > kLargestWorld ||
        group.per_rank_batch <= 0 || group.per_rank_batch > kLargestBatch) {
      return base::Fail(
          "ANL-0002", base::ExitCode::kUsage,
          fmt::format("a scaling group has {} ranks and batch {} per rank",
                      group.world_size, group.per_rank_batch),
          std::string(ToString(group.rule)) + " scaling",
          "both must be positive whole numbers");
    }
  }
  if (!any_run) {
    return base::Fail(
        "ANL-0001", base::ExitCode::kInput, "there is no run to compute scaling from",
        "scaling", "run the training with 1 rank and with more, each at least twice");
  }
  return ScalingBuilder(options).Run(groups);
}

}  // namespace stepslack::analyze

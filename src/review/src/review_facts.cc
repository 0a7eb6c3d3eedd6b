#include "review_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "stepslack/base/parallel.h"
#include "stepslack/base/process.h"
#include "stepslack/stats/intervals.h"

namespace stepslack::review {
namespace {

constexpr size_t kWarmupSteps = 5;

using base::Estimate;
using base::Exact;

int64_t TestMaps(const data::AuditResult& audit) {
  int64_t count = 0;
  for (const data::FoldAudit& fold : audit.folds) count += fold.test;
  return count;
}

Estimate Reproducible(const analyze::Reproducibility& repro) {
  if (repro.verdict == analyze::ReproducibilityVerdict::kNotComparable) {
    Estimate none;
    none.unit = "1";
    none.method = repro.reason;
    return none;
  }
  const bool equal = repro.verdict == analyze::ReproducibilityVerdict::kBitEqual;
  return Exact(equal ? 1 : 0, "1", repro.steps_compared, "steps",
               "digests of parameters, losses and sample order of two runs");
}

Estimate LeakedRows(const data::AuditResult& audit) {
  return Exact(static_cast<double>(audit.leaked_test_rows()), "rows", TestMaps(audit),
               "test maps", "every test map against every training and validation map");
}

std::optional<Estimate> Hardware(const analyze::ScalingReport& scaling,
                                 analyze::ScalingRule rule) {
  const analyze::ScalingPoint* point = FindPoint(scaling, rule);
  if (point == nullptr) return std::nullopt;
  return point->efficiency.value ? point->efficiency : point->hardware;
}

// Seconds of all honest runs as shares of their wall time.
Estimate RunShare(const TrainStages& runs,
                  double (*part)(const record::RunRecord& run)) {
  std::vector<double> shares;
  for (const FoldRun& run : runs.honest) {
    const auto& summary = run.run.summary;
    const double wall = summary.startup_seconds + summary.train_seconds;
    if (wall > 0) shares.push_back(part(run.run) / wall);
  }
  return stats::MeanInterval(shares, "1", "runs");
}

double EvalSeconds(const record::RunRecord& run) {
  double sum = 0;
  for (const record::EvalRecord& eval : run.evals) sum += eval.eval_seconds;
  return sum;
}

// 1 when a rank draws the same samples in two epochs, or two ranks draw the same ones.
std::optional<Estimate> OrderRepeats(const record::RunRecord& run) {
  bool repeats = false;
  int64_t compared = 0;
  std::set<std::string> seen;
  for (const auto& steps : run.steps) {
    for (const record::StepRecord& step : steps) {
      if (step.rank_samples < 4 || step.sample_digest.empty()) continue;
      ++compared;
      repeats = !seen.insert(step.sample_digest).second || repeats;
    }
  }
  if (compared < 2) return std::nullopt;
  return Exact(repeats ? 1 : 0, "1", compared, "rank-steps",
               "digests of the sample indices of every batch");
}

double ComputeNs(const record::StepRecord& step) {
  return static_cast<double>(step.forward_ns + step.backward_ns + step.optimizer_ns);
}

// Variation over ranks of the compute time within one step, mean over steps of a run.
std::optional<Estimate> ImbalanceCv(const TrainStages& runs) {
  std::vector<double> by_run;
  for (const FoldRun& run : runs.honest) {
    const auto& ranks = run.run.steps;
    if (ranks.size() < 2) return std::nullopt;
    size_t steps = ranks.front().size();
    for (const auto& rank : ranks) steps = std::min(steps, rank.size());
    double sum = 0;
    size_t counted = 0;
    for (size_t i = kWarmupSteps; i < steps; ++i) {
      double mean = 0;
      for (const auto& rank : ranks) mean += ComputeNs(rank[i]);
      mean /= static_cast<double>(ranks.size());
      double square = 0;
      for (const auto& rank : ranks) square += std::pow(ComputeNs(rank[i]) - mean, 2);
      if (mean <= 0) continue;
      sum += std::sqrt(square / static_cast<double>(ranks.size() - 1)) / mean;
      ++counted;
    }
    if (counted > 0) by_run.push_back(sum / static_cast<double>(counted));
  }
  return stats::MeanInterval(by_run, "1", "runs");
}

// Compute nanoseconds a sample of one rank, after warm-up.
double ComputePerSample(const record::RunRecord& run) {
  double ns = 0;
  double samples = 0;
  for (const auto& rank : run.steps) {
    for (size_t i = kWarmupSteps; i < rank.size(); ++i) {
      ns += ComputeNs(rank[i]);
      samples += static_cast<double>(rank[i].rank_samples);
    }
  }
  return samples > 0 ? ns / samples : 0;
}

// Compute time per sample at all ranks over that at one, equal batch per rank: what
// shared memory, caches and cores cost. Paired over the interleaved repeats.
std::optional<Estimate> ComputeSlowdown(const TrainStages& runs) {
  const ScaleRuns* one = nullptr;
  const ScaleRuns* many = nullptr;
  for (const ScaleRuns& group : runs.scale) {
    if (group.world_size == 1) one = &group;
    if (group.world_size > 1 && group.weak) many = &group;
  }
  if (one == nullptr || many == nullptr) return std::nullopt;
  std::vector<double> at_one;
  std::vector<double> at_many;
  for (size_t i = 0; i < std::min(one->runs.size(), many->runs.size()); ++i) {
    at_one.push_back(ComputePerSample(one->runs[i]));
    at_many.push_back(ComputePerSample(many->runs[i]));
  }
  return stats::PairedLogRatioInterval(at_many, at_one, "paired repeats");
}

class FactCollector {
 public:
  void Add(const std::string& name, const std::optional<Estimate>& estimate,
           const std::string& artifact) {
    if (estimate && estimate->value) facts_[name] = {*estimate, artifact};
  }
  void AddExact(const std::string& name, double value, int64_t n,
                const std::string& n_of, const std::string& artifact) {
    Add(name, Exact(value, "1", n, n_of, "counted"), artifact);
  }
  diagnose::Facts Take() { return std::move(facts_); }

 private:
  diagnose::Facts facts_;
};

void AddDataFacts(const DataStages& data, const Measurements& measured,
                  FactCollector& facts) {
  const std::string audit = "split audit";
  const int64_t tests = TestMaps(data.audit);
  const auto leaked = static_cast<double>(data.audit.leaked_test_rows());
  facts.AddExact("split.leaked_rows", leaked, tests, "test maps", audit);
  facts.AddExact("split.leaked_rows_share",
                 leaked / static_cast<double>(std::max<int64_t>(1, tests)), tests,
                 "test maps", audit);
  double overlap = 0;
  for (const data::FoldAudit& fold : data.audit.folds) {
    overlap += static_cast<double>(fold.group_overlap.size());
  }
  facts.AddExact("split.group_overlap", overlap, tests, "test maps", audit);
  double copies = 0;
  for (const data::LinkCount& count : data.audit.counts) {
    const bool whole = count.kind == data::LinkKind::kExactSample ||
                       count.kind == data::LinkKind::kTransformedSample;
    if (whole) copies += static_cast<double>(count.pairs);
  }
  facts.AddExact("split.duplicate_pairs", copies, data.audit.maps, "maps", audit);
  Estimate optimism = measured.quality.optimism;
  if (optimism.value) {
    optimism.value = -*optimism.value;
    const std::optional<double> low = optimism.low;
    if (optimism.high) optimism.low = -*optimism.high;
    if (low) optimism.high = -*low;
    facts.Add("split.optimism", optimism, "quality report");
  }
  facts.AddExact("split.test_groups",
                 static_cast<double>(measured.quality.model.groups),
                 measured.quality.model.groups, "groups", audit);
  const auto kept = static_cast<double>(data.maps.maps.size());
  const auto aside = static_cast<double>(data.quarantined +
                                         static_cast<int64_t>(data.problems.size()));
  facts.AddExact("data.quarantined_share", aside / std::max(1.0, kept + aside),
                 static_cast<int64_t>(kept + aside), "maps", "data lineage");
  facts.AddExact("data.unit_suspects", static_cast<double>(data.suspicions.size()),
                 static_cast<int64_t>(kept), "maps", "data lineage");
}

void AddModelFacts(const TrainStages& runs, const Measurements& measured,
                   FactCollector& facts) {
  const QualityResults& quality = measured.quality;
  facts.Add("quality.relative_mae", quality.model.relative_mae, "quality report");
  facts.Add("quality.hotspot_recall", quality.model.hotspot_recall, "quality report");
  facts.Add("quality.vs_linear", quality.vs_linear, "quality report");
  facts.Add("quality.seed_spread", quality.seed_spread, "reproducibility report");
  facts.Add("overfit.drift", measured.overfit.drift, "time to accuracy");
  facts.Add("overfit.gap", measured.overfit.gap, "time to accuracy");
  const auto& model = quality.model.relative_mae;
  if (!quality.slices.empty() && model.value && *model.value > 0) {
    double worst = 0;
    for (const auto& slice : quality.slices) {
      worst = std::max(worst, slice.quality.relative_mae.value.value_or(0));
    }
    facts.AddExact("overfit.slice_ratio", worst / *model.value,
                   static_cast<int64_t>(quality.slices.size()), "slices",
                   "quality report");
  }
  const auto& constant = quality.constant.relative_mae;
  if (model.value && constant.value && *constant.value > 0 && model.low && model.high) {
    Estimate ratio = model;
    ratio.value = *model.value / *constant.value;
    ratio.low = *model.low / *constant.value;
    ratio.high = *model.high / *constant.value;
    ratio.method = "model's interval over the constant's value, same test maps";
    facts.Add("quality.vs_constant", ratio, "quality report");
  }
  const auto& summary = runs.honest.front().run.summary;
  facts.AddExact("model.parameters", static_cast<double>(summary.parameters), 1,
                 "model", "multi-node training log");
  int64_t steps = 0;
  double bad = 0;
  for (const FoldRun& run : runs.honest) {
    for (const auto& rank : run.run.steps) {
      for (const record::StepRecord& step : rank) {
        ++steps;
        bad += std::isfinite(step.loss) ? 0 : 1;
      }
    }
  }
  facts.AddExact("model.loss_not_finite", bad, steps, "rank-steps",
                 "multi-node training log");
  facts.Add("data.sample_order_repeats", OrderRepeats(runs.honest.front().run),
            "multi-node training log");
}

void AddScalingFacts(const Measurements& measured, FactCollector& facts) {
  const std::string scaling = "scaling efficiency chart";
  facts.Add("scaling.strong_efficiency",
            Hardware(measured.scaling, analyze::ScalingRule::kStrong), scaling);
  facts.Add("scaling.weak_efficiency",
            Hardware(measured.scaling, analyze::ScalingRule::kWeak), scaling);
  const analyze::ScalingPoint* strong =
      FindPoint(measured.scaling, analyze::ScalingRule::kStrong);
  if (strong == nullptr) return;
  const auto share = [](Estimate points) {
    points.unit = "1";
    if (points.value) points.value = *points.value / 100;
    if (points.low) points.low = *points.low / 100;
    if (points.high) points.high = *points.high / 100;
    return points;
  };
  facts.Add("scaling.strong_compute_loss", share(strong->loss.compute), scaling);
  facts.Add("scaling.strong_comm_loss", share(strong->loss.exposed_comm), scaling);
  facts.Add("scaling.statistical", strong->statistical, scaling);
  if (strong->max_relative_loss_difference) {
    facts.AddExact("scaling.loss_difference", *strong->max_relative_loss_difference,
                   strong->loss_steps_compared, "steps", scaling);
  }
}

void AddRuntimeFacts(const TrainStages& runs, const Measurements& measured,
                     FactCollector& facts) {
  const analyze::CommsProfile& profile = measured.profile;
  const std::string comms = "comms profile";
  facts.Add("comm.exposed_share", profile.exposed_share, comms);
  facts.Add("comm.wait_share", profile.exposed_wait_share, comms);
  facts.Add("comm.transfer_share", profile.exposed_transfer_share, comms);
  facts.Add("comm.bytes_per_step", profile.bytes_per_step, comms);
  if (!profile.collectives.empty()) {
    facts.Add("comm.bus_gbs", profile.collectives.front().bus_bandwidth, comms);
  }
  facts.Add("data.wait_share", profile.data_share, comms);
  facts.Add("runtime.page_faults_per_step", profile.faults_per_step, comms);
  facts.Add("runtime.startup_share",
            RunShare(runs, [](const auto& run) { return run.summary.startup_seconds; }),
            "multi-node training log");
  facts.Add("runtime.eval_share", RunShare(runs, EvalSeconds),
            "multi-node training log");
  const std::string blas = base::HostFacts()["blas"].AsString();
  const bool reference = blas.find("openblas") == std::string::npos &&
                         blas.find("mkl") == std::string::npos &&
                         blas.find("blis") == std::string::npos;
  facts.AddExact("runtime.blas_reference", reference ? 1 : 0, 1, "host", "host facts");
  const auto& runtime = runs.honest.front().run.summary.runtime;
  if (const auto cores = runtime.find("cores_allowed"); cores != runtime.end()) {
    facts.AddExact("runtime.unpinned", cores->second == "1" ? 0 : 1, 1, "rank",
                   "multi-node training log");
  }
  facts.Add("data.imbalance_cv", ImbalanceCv(runs), comms);
  if (profile.traced_steps > 0) {
    int64_t collectives = 0;
    for (const analyze::CollectiveRow& row : profile.collectives)
      collectives += row.count;
    facts.AddExact("comm.collectives_per_step",
                   static_cast<double>(collectives * profile.world_size) /
                       static_cast<double>(profile.traced_steps),
                   profile.traced_steps, "rank-steps", comms);
  }
  facts.Add("hardware.compute_slowdown", ComputeSlowdown(runs),
            "scaling efficiency chart");
  facts.Add("hardware.steal_share", measured.steal_share, "host facts");
  facts.AddExact("runtime.oversubscription",
                 static_cast<double>(profile.world_size) / base::UsableCores(), 1,
                 "host", "host facts");
  if (profile.ranks.size() > 1) {
    int64_t most = 0;
    int64_t all = 0;
    for (const analyze::RankTotals& rank : profile.ranks) {
      most = std::max(most, rank.times_last);
      all += rank.times_last;
    }
    if (all > 0) {
      facts.Add("hardware.slowest_rank_share",
                stats::ClopperPearsonInterval(most, all, "collectives"), comms);
    }
    facts.Add("hardware.rank_speed_ratio", profile.slowest_over_others, comms);
  }
}

void AddReproducibilityFacts(const Measurements& measured, FactCollector& facts) {
  const analyze::Reproducibility& repro = measured.reproducibility;
  const auto add = [&](const std::string& name, const std::optional<bool>& equal) {
    if (equal)
      facts.AddExact(name, *equal ? 1 : 0, 2, "runs", "reproducibility report");
  };
  add("repro.parameters_equal", repro.parameters_equal);
  add("repro.predictions_equal", repro.predictions_equal);
  add("repro.order_equal", repro.sample_order_equal);
  facts.Add("latency.model_ms", measured.latency.model_ms, "runtime profile");
  facts.Add("latency.solver_ms", measured.latency.solver_ms, "runtime profile");
  facts.Add("latency.ratio", measured.latency.ratio, "runtime profile");
}

}  // namespace

MetricValue ValueOf(std::string_view metric, const DataStages& data,
                    const Measurements& measured) {
  const quality::MapQuality& model = measured.quality.model;
  if (metric == "relative_mae") return {model.relative_mae, "quality report"};
  if (metric == "mae_mv") return {model.mae, "quality report"};
  if (metric == "hotspot_recall") return {model.hotspot_recall, "quality report"};
  if (metric == "block_recall") return {model.block_recall, "quality report"};
  if (metric == "vs_linear") return {measured.quality.vs_linear, "quality report"};
  if (metric == "coverage_90") return {measured.quality.coverage_90, "quality report"};
  if (metric == "exposed_comm_share") {
    return {measured.profile.exposed_share, "comms profile"};
  }
  if (metric == "parallel_efficiency") {
    return {Hardware(measured.scaling, analyze::ScalingRule::kStrong),
            "scaling efficiency chart"};
  }
  if (metric == "weak_efficiency") {
    return {Hardware(measured.scaling, analyze::ScalingRule::kWeak),
            "scaling efficiency chart"};
  }
  if (metric == "time_to_accuracy_s") {
    return {measured.time_to_accuracy.seconds, "time to accuracy"};
  }
  if (metric == "latency_ms") return {measured.latency.model_ms, "runtime profile"};
  if (metric == "latency_vs_solver") return {measured.latency.ratio, "runtime profile"};
  if (metric == "leaked_rows") return {LeakedRows(data.audit), "split audit"};
  if (metric == "reproducible") {
    return {Reproducible(measured.reproducibility), "reproducibility report"};
  }
  return {};
}

diagnose::Facts CollectFacts(const DataStages& data, const TrainStages& runs,
                             const Measurements& measured) {
  FactCollector facts;
  AddDataFacts(data, measured, facts);
  AddModelFacts(runs, measured, facts);
  AddScalingFacts(measured, facts);
  AddRuntimeFacts(runs, measured, facts);
  AddReproducibilityFacts(measured, facts);
  return facts.Take();
}

}  // namespace stepslack::review

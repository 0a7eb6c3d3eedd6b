#include "stepslack/diagnose/fact_names.h"

#include <algorithm>
#include <array>

namespace stepslack::diagnose {
namespace {

constexpr auto kFacts = std::to_array<FactName>({
    {"comm.bus_gbs", "bus bandwidth of the all-reduce, GB/s"},
    {"comm.bytes_per_step", "bytes a rank gives to collectives in a step"},
    {"comm.collectives_per_step", "collectives a rank starts in a step"},
    {"comm.exposed_share", "share of the step in communication that nothing hides"},
    {"comm.transfer_share", "share of the step in transfer after the last arrival"},
    {"comm.wait_share", "share of the step spent waiting for the last arriver"},
    {"data.imbalance_cv", "variation (cv) over ranks of the compute time in one step"},
    {"data.quarantined_share", "share of the records that cleaning set aside"},
    {"data.sample_order_repeats", "1 when two epochs or two ranks see the same order"},
    {"data.unit_suspects", "channels or columns whose scale suggests a wrong unit"},
    {"data.wait_share", "share of the step in which the loader is waited for"},
    {"hardware.compute_slowdown", "compute time per sample at W ranks over 1 rank"},
    {"hardware.rank_speed_ratio", "compute time of the slowest rank over the fastest"},
    {"hardware.slowest_rank_share", "share of the steps in which one rank is last"},
    {"hardware.steal_share", "share of CPU time that the hypervisor took away"},
    {"latency.model_ms", "latency of one prediction, ms"},
    {"latency.ratio", "latency of the model over that of the solver it stands in for"},
    {"latency.solver_ms", "latency of the exact solver on the same input, ms"},
    {"model.loss_not_finite", "steps whose loss was NaN or infinite"},
    {"model.parameters", "trainable parameters"},
    {"overfit.drift", "rise of the validation error after its minimum, relative"},
    {"overfit.gap", "error on unseen groups over training error, minus 1"},
    {"overfit.slice_ratio", "error of the worst slice over the error of all"},
    {"quality.hotspot_recall", "share of the true hotspots that are predicted"},
    {"quality.relative_mae", "mean absolute error over the mean target"},
    {"quality.seed_spread", "variation (cv) of the error over training seeds"},
    {"quality.vs_constant", "relative MAE over that of the constant predictor"},
    {"quality.vs_linear", "relative MAE over that of the linear baseline"},
    {"repro.order_equal", "1 when a repeated run reads the samples in the same order"},
    {"repro.parameters_equal", "1 when a repeated run ends in the same parameters"},
    {"repro.predictions_equal", "1 when a repeated run makes the same predictions"},
    {"runtime.blas_reference", "1 when the reference BLAS does the matrix products"},
    {"runtime.checkpoint_share", "share of the wall time spent in writing checkpoints"},
    {"runtime.eval_share", "share of the wall time spent in evaluation"},
    {"runtime.kernel_efficiency", "achieved over peak arithmetic rate of the kernels"},
    {"runtime.oversubscription", "ranks times threads over usable cores"},
    {"runtime.page_faults_per_step", "minor page faults of a rank in a steady step"},
    {"runtime.startup_share", "share of the wall time before the first step"},
    {"runtime.unpinned", "1 when ranks are not bound to cores of their own"},
    {"scaling.loss_difference",
     "loss at W ranks over 1 rank minus 1, same global batch"},
    {"scaling.statistical", "samples to the target at 1 rank over those at W ranks"},
    {"scaling.strong_comm_loss", "part of 1 - strong efficiency due to communication"},
    {"scaling.strong_compute_loss", "part of 1 - strong efficiency due to compute"},
    {"scaling.strong_efficiency", "parallel efficiency at a fixed global batch"},
    {"scaling.weak_efficiency", "parallel efficiency at a fixed batch per rank"},
    {"split.duplicate_pairs", "pairs of samples with equal content"},
    {"split.group_overlap", "groups (designs, families) on both sides of the split"},
    {"split.leaked_rows", "test rows that also stand in training"},
    {"split.leaked_rows_share", "the same as a share of the test rows"},
    {"split.optimism", "relative MAE, leaky split minus honest one, over honest"},
    {"split.test_groups", "independent groups (designs, families) in the test set"},
});

constexpr auto kCategories = std::to_array<std::string_view>(
    {"quality", "efficiency", "exposed_comm", "time_to_accuracy", "latency", "leak",
     "reproducibility", "integrity"});

constexpr auto kLayers =
    std::to_array<std::string_view>({"data", "model", "runtime", "hardware"});

}  // namespace

std::span<const FactName> KnownFacts() { return kFacts; }

bool IsKnownFact(std::string_view name) {
  return std::ranges::binary_search(kFacts, name, {}, &FactName::name);
}

std::span<const std::string_view> KnownCategories() { return kCategories; }

bool IsKnownCategory(std::string_view name) {
  return std::ranges::find(kCategories, name) != kCategories.end();
}

std::span<const std::string_view> Layers() { return kLayers; }

}  // namespace stepslack::diagnose

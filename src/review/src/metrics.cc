#include "stepslack/review/metrics.h"

#include <algorithm>
#include <array>

namespace stepslack::review {
namespace {

constexpr std::array<MetricInfo, 14> kMetrics{{
    {"relative_mae", "1", "quality",
     "sum of absolute errors over sum of labels, on test maps"},
    {"mae_mv", "mV", "quality", "mean absolute error per pixel, on test maps"},
    {"hotspot_recall", "1", "quality",
     "share of labelled hotspot pixels that the prediction marks"},
    {"block_recall", "1", "quality",
     "share of the worst blocks found in the order that the model proposes"},
    {"vs_linear", "1", "quality",
     "model's relative MAE over that of the linear baseline with physics features"},
    {"parallel_efficiency", "1", "efficiency",
     "strong scaling: throughput per rank against one rank"},
    {"weak_efficiency", "1", "efficiency",
     "weak scaling: throughput per rank against one rank"},
    {"exposed_comm_share", "1", "exposed_comm",
     "share of step time in which a rank only waits for communication"},
    {"time_to_accuracy_s", "s", "time_to_accuracy",
     "wall seconds of training until the target metric is seen"},
    {"latency_ms", "ms", "latency", "one map through the model, one thread, wall time"},
    {"latency_vs_solver", "1", "latency", "model's latency over the exact solver's"},
    {"leaked_rows", "rows", "leak",
     "test maps with a duplicate or relative in train or validation"},
    {"reproducible", "1", "reproducibility",
     "1 when the same seed twice gives the same bytes"},
    {"coverage_90", "1", "quality",
     "share of test pixels inside the 90 % interval calibrated on validation"},
}};

}  // namespace

std::span<const MetricInfo> Metrics() { return kMetrics; }

const MetricInfo* FindMetric(std::string_view name) {
  const auto* found = std::find_if(kMetrics.begin(), kMetrics.end(),
                                   [&](const MetricInfo& m) { return m.name == name; });
  return found != kMetrics.end() ? found : nullptr;
}

}  // namespace stepslack::review

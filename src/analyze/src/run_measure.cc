#include "run_measure.h"

#include <fmt/format.h>

#include <algorithm>

#include "step_table.h"

namespace stepslack::analyze {
namespace {

// Sums of one step over ranks, in nanoseconds.
struct StepSums {
  double samples = 0;
  double step = 0;
  double compute = 0;
  double exposed_comm = 0;
  double data = 0;
  double largest_compute = 0;
};

StepSums SumStep(const StepTable& table,
                 const std::vector<const record::StepRecord*>& row, int world_size) {
  StepSums sums;
  for (size_t r = 0; r < row.size(); ++r) {
    const StepPhases phases = PhasesOf(*row[r], table.ranks[r], world_size);
    const double compute = static_cast<double>(ComputeNs(*row[r]));
    sums.samples += static_cast<double>(std::max<int64_t>(row[r]->rank_samples, 0));
    sums.step += static_cast<double>(phases.step_ns);
    sums.compute += compute;
    sums.exposed_comm += static_cast<double>(phases.exposed_comm_ns);
    sums.data += static_cast<double>(phases.data_ns);
    sums.largest_compute = std::max(sums.largest_compute, compute);
  }
  return sums;
}

}  // namespace

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  if (values.size() % 2 == 1) return values[half];
  return (values[half - 1] + values[half]) / 2;
}

std::optional<RunMeasure> MeasureRun(const record::RunRecord& run, int64_t warmup_steps,
                                     std::string* why) {
  const StepTable table = BuildStepTable(run, warmup_steps);
  if (!table.coverage.missing_ranks.empty()) {
    *why = fmt::format("rank {} left no step records",
                       table.coverage.missing_ranks.front());
    return std::nullopt;
  }
  const int world_size = WorldSize(run);
  std::vector<double> rates, batches, compute, exposed, data;
  std::vector<std::vector<double>> rank_compute(table.ranks.size());
  double mean_compute = 0;
  double largest_compute = 0;
  const double ranks = static_cast<double>(table.ranks.size());
  for (const auto& row : table.rows) {
    const StepSums sums = SumStep(table, row, world_size);
    if (sums.samples <= 0 || sums.step <= 0) continue;
    rates.push_back(sums.samples / (sums.step * 1e-9 / ranks));
    batches.push_back(sums.samples);
    compute.push_back(sums.compute * 1e-9 / sums.samples);
    exposed.push_back(sums.exposed_comm * 1e-9 / sums.samples);
    data.push_back(sums.data * 1e-9 / sums.samples);
    mean_compute += sums.compute / ranks;
    largest_compute += sums.largest_compute;
    for (size_t r = 0; r < row.size(); ++r) {
      rank_compute[r].push_back(static_cast<double>(ComputeNs(*row[r])) * 1e-9);
    }
  }
  if (rates.empty()) {
    *why = "no step with samples and time";
    return std::nullopt;
  }
  RunMeasure measure;
  measure.steps = static_cast<int64_t>(rates.size());
  measure.throughput = Median(std::move(rates));
  measure.global_batch = Median(std::move(batches));
  measure.total = ranks / measure.throughput;
  measure.compute = Median(std::move(compute));
  measure.exposed_comm = Median(std::move(exposed));
  measure.data = Median(std::move(data));
  measure.load_balance = largest_compute > 0 ? mean_compute / largest_compute : 1;
  for (auto& seconds : rank_compute) {
    measure.rank_compute_seconds.push_back(Median(std::move(seconds)));
  }
  return measure;
}

}  // namespace stepslack::analyze

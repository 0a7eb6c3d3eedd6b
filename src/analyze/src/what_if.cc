#include "stepslack/analyze/what_if.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>
#include <span>
#include <utility>

#include "op_graph.h"
#include "replay_table.h"

namespace stepslack::analyze {
namespace {

using trace::OpType;

// Each costs a replay of all operations.
constexpr int64_t kMostParts = 4096;

// Communication has a typical time (median); of computations every one counts (mean).
bool IsCommunication(OpType type) {
  return type != OpType::kForwardCompute && type != OpType::kBackwardCompute &&
         type != OpType::kOptimizer && type != OpType::kGc;
}

std::string OpName(OpType type) {
  if (type == OpType::kForwardSend || type == OpType::kForwardRecv) {
    return "forward-pp-comm";
  }
  if (type == OpType::kBackwardSend || type == OpType::kBackwardRecv) {
    return "backward-pp-comm";
  }
  return std::string(trace::ToString(type));
}

// Rounded to the nanosecond; exact, however many there are.
int64_t MeanOf(std::span<const int64_t> values) {
  const auto n = static_cast<int64_t>(values.size());
  int64_t whole = 0;
  int64_t rest = 0;
  for (const int64_t value : values) {
    whole += value / n;
    rest += value % n;
  }
  return whole + (rest + n / 2) / n;
}

int64_t MedianOf(std::span<int64_t> values) {
  const size_t half = values.size() / 2;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(half);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  const int64_t below = *std::max_element(values.begin(), middle);
  return below + (*middle - below + 1) / 2;
}

double Mean(std::span<const int64_t> values) {
  double sum = 0;
  for (const int64_t value : values) sum += static_cast<double>(value);
  return sum / static_cast<double>(values.size());
}

using OpFilter = std::function<bool(size_t)>;  // of a graph operation

class Replays {
 public:
  explicit Replays(const ReplayTable& table)
      : table_(table),
        lanes_(table.steps.size()),
        ideal_(table.durations_ns.size()),
        mixed_(table.durations_ns.size()),
        ends_(table.durations_ns.size()) {
    SetIdeal();
  }

  // Step times of every lane.
  std::vector<int64_t> Actual() { return Run(table_.durations_ns); }
  std::vector<int64_t> Ideal() { return Run(ideal_); }
  // Mean step time with the operations of `chosen` actual, all others ideal.
  double OnlyActual(const OpFilter& chosen) {
    return Mean(RunMixed(ideal_, table_.durations_ns, chosen));
  }
  double OnlyIdeal(const OpFilter& chosen) {
    return Mean(RunMixed(table_.durations_ns, ideal_, chosen));
  }

 private:
  void SetIdeal();
  std::vector<int64_t> Run(std::span<const int64_t> durations) {
    table_.graph.Replay(durations, lanes_, ends_);
    return LaneEnds(ends_, lanes_);
  }
  std::vector<int64_t> RunMixed(std::span<const int64_t> rest,
                                std::span<const int64_t> chosen_durations,
                                const OpFilter& chosen);

  const ReplayTable& table_;
  size_t lanes_;
  std::vector<int64_t> ideal_;
  std::vector<int64_t> mixed_;
  std::vector<int64_t> ends_;
};

void Replays::SetIdeal() {
  std::array<std::vector<int64_t>, trace::kOpTypes> by_type;
  const auto type_of = [this](size_t op) {
    return table_.ops[op % table_.ops.size()].type;
  };
  for (size_t op = 0; op < table_.graph_ops(); ++op) {
    const auto from =
        table_.durations_ns.begin() + static_cast<std::ptrdiff_t>(op * lanes_);
    std::vector<int64_t>& values = by_type[static_cast<size_t>(type_of(op))];
    values.insert(values.end(), from, from + static_cast<std::ptrdiff_t>(lanes_));
  }
  std::array<int64_t, trace::kOpTypes> typical{};
  for (size_t type = 0; type < by_type.size(); ++type) {
    if (by_type[type].empty()) continue;
    typical[type] = IsCommunication(static_cast<OpType>(type)) ? MedianOf(by_type[type])
                                                               : MeanOf(by_type[type]);
  }
  for (size_t op = 0; op < table_.graph_ops(); ++op) {
    std::fill_n(ideal_.begin() + static_cast<std::ptrdiff_t>(op * lanes_), lanes_,
                typical[static_cast<size_t>(type_of(op))]);
  }
}

std::vector<int64_t> Replays::RunMixed(std::span<const int64_t> rest,
                                       std::span<const int64_t> chosen_durations,
                                       const OpFilter& chosen) {
  for (size_t op = 0; op < table_.graph_ops(); ++op) {
    const size_t at = op * lanes_;
    const std::span<const int64_t> source = chosen(op) ? chosen_durations : rest;
    std::copy_n(source.begin() + static_cast<std::ptrdiff_t>(at), lanes_,
                mixed_.begin() + static_cast<std::ptrdiff_t>(at));
  }
  return Run(mixed_);
}

// Largest slowdown first, then by the part's own order.
template <typename Part>
void SortBySlowdown(std::vector<Part>& parts) {
  std::stable_sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) {
    return a.slowdown > b.slowdown;
  });
}

class WhatIfAnalysis {
 public:
  WhatIfAnalysis(const ReplayTable& table, const WhatIfOptions& options)
      : table_(table), options_(options), replays_(table) {}

  base::Result<WhatIf> Run();

 private:
  int32_t DpRankOf(size_t op) const {
    return static_cast<int32_t>(op / table_.ops.size());
  }
  const PipelineOp& OpOf(size_t op) const { return table_.ops[op % table_.ops.size()]; }
  size_t WorkerAt(int32_t dp_rank, int32_t stage) const {
    return static_cast<size_t>(dp_rank) * static_cast<size_t>(table_.size.pp_size) +
           static_cast<size_t>(stage);
  }
  size_t WorkerOf(size_t op) const { return WorkerAt(DpRankOf(op), OpOf(op).stage); }
  double Slowdown(const OpFilter& chosen) {
    return replays_.OnlyActual(chosen) / result_.ideal_step_ns;
  }
  WhatIfShare ShareOf(const OpFilter& chosen);
  void SetSteps(const std::vector<int64_t>& actual, const std::vector<int64_t>& ideal);
  void SetParts();
  void SetWorkers();
  void SetOps();
  void SetShares();

  const ReplayTable& table_;
  WhatIfOptions options_;
  Replays replays_;
  WhatIf result_;
};

base::Result<WhatIf> WhatIfAnalysis::Run() {
  const std::vector<int64_t> actual = replays_.Actual();
  const std::vector<int64_t> ideal = replays_.Ideal();
  result_.measured_step_ns = Mean(table_.measured_ns);
  result_.actual_step_ns = Mean(actual);
  result_.ideal_step_ns = Mean(ideal);
  if (result_.ideal_step_ns <= 0 || result_.actual_step_ns <= 0) {
    return base::Fail("ANL-0146", base::ExitCode::kInput,
                      "the steps of the op trace take no time", "",
                      "check the durations of the trace: they are in seconds");
  }
  result_.slowdown = result_.actual_step_ns / result_.ideal_step_ns;
  result_.launch_slowdown = result_.measured_step_ns / result_.actual_step_ns;
  result_.left_out = table_.left_out;
  result_.ops_used = static_cast<int64_t>(table_.durations_ns.size());
  result_.ops_of_other_ranks = table_.ops_of_other_ranks;
  SetSteps(actual, ideal);
  SetParts();
  SetWorkers();
  SetOps();
  SetShares();
  return std::move(result_);
}

void WhatIfAnalysis::SetSteps(const std::vector<int64_t>& actual,
                              const std::vector<int64_t>& ideal) {
  for (size_t lane = 0; lane < table_.steps.size(); ++lane) {
    result_.steps.push_back(
        {table_.steps[lane], table_.measured_ns[lane], actual[lane], ideal[lane],
         static_cast<double>(actual[lane]) / static_cast<double>(ideal[lane])});
  }
}

void WhatIfAnalysis::SetParts() {
  for (int32_t d = 0; d < table_.size.dp_size; ++d) {
    result_.by_dp_rank.push_back(
        {d, Slowdown([&](size_t op) { return DpRankOf(op) == d; })});
  }
  for (int32_t s = 0; s < table_.size.pp_size; ++s) {
    result_.by_stage.push_back(
        {s, Slowdown([&](size_t op) { return OpOf(op).stage == s; })});
  }
}

// Replaying every worker would cost a replay each; like the artifact, the slowdown of a
// worker is taken as the smaller one of its dp rank's and its stage's.
void WhatIfAnalysis::SetWorkers() {
  for (size_t worker = 0; worker < table_.workers(); ++worker) {
    const size_t stages = result_.by_stage.size();
    const WhatIfPart& dp_rank = result_.by_dp_rank[worker / stages];
    const WhatIfPart& stage = result_.by_stage[worker % stages];
    result_.by_rank.push_back({table_.rank_of[worker], dp_rank.id, stage.id,
                               std::min(dp_rank.slowdown, stage.slowdown)});
  }
  std::stable_sort(
      result_.by_rank.begin(), result_.by_rank.end(),
      [](const WhatIfWorker& a, const WhatIfWorker& b) { return a.rank < b.rank; });
  SortBySlowdown(result_.by_rank);
  SortBySlowdown(result_.by_dp_rank);
  SortBySlowdown(result_.by_stage);
}

void WhatIfAnalysis::SetOps() {
  for (int type = 0; type < trace::kOpTypes; ++type) {
    const std::string name = OpName(static_cast<OpType>(type));
    const auto same = [&](const PipelineOp& op) { return OpName(op.type) == name; };
    const bool listed = std::any_of(result_.by_op.begin(), result_.by_op.end(),
                                    [&](const WhatIfOp& op) { return op.op == name; });
    if (listed || std::none_of(table_.ops.begin(), table_.ops.end(), same)) continue;
    result_.by_op.push_back(
        {name, Slowdown([&](size_t op) { return same(OpOf(op)); })});
  }
  SortBySlowdown(result_.by_op);
}

WhatIfShare WhatIfAnalysis::ShareOf(const OpFilter& chosen) {
  const double lost = result_.actual_step_ns - result_.ideal_step_ns;
  WhatIfShare share;
  share.without_step_ns = replays_.OnlyIdeal(chosen);
  share.only_step_ns = replays_.OnlyActual(chosen);
  share.share = (result_.actual_step_ns - share.without_step_ns) / lost;
  share.alone = (share.only_step_ns - result_.ideal_step_ns) / lost;
  return share;
}

void WhatIfAnalysis::SetShares() {
  const size_t workers = table_.workers();
  const auto slowest = static_cast<size_t>(
      std::ceil(static_cast<double>(workers) * options_.slowest_share - 1e-9));
  std::vector<bool> chosen(workers, false);
  for (size_t i = 0; i < std::min(slowest, workers); ++i) {
    const WhatIfWorker& worker = result_.by_rank[i];
    result_.slowest_ranks.push_back(worker.rank);
    chosen[WorkerAt(worker.dp_rank, worker.stage)] = true;
  }
  if (result_.slowdown < options_.least_slowdown) {
    result_.no_slowest_workers = "there is no slowdown to share out";
    result_.no_last_stage = result_.no_slowest_workers;
    return;
  }
  if (workers > 1) {
    result_.slowest_workers = ShareOf([&](size_t op) { return chosen[WorkerOf(op)]; });
  } else {
    result_.no_slowest_workers = "there is one worker only";
  }
  if (table_.size.pp_size > 1) {
    result_.last_stage =
        ShareOf([&](size_t op) { return OpOf(op).stage == table_.size.pp_size - 1; });
  } else {
    result_.no_last_stage = "there is one pipeline stage only";
  }
}

}  // namespace

base::Result<WhatIf> ComputeWhatIf(const trace::OpTrace& trace,
                                   const WhatIfOptions& options) {
  SS_TRY(const ReplayTable table, MakeReplayTable(trace));
  if (int64_t{table.size.dp_size} + table.size.pp_size > kMostParts) {
    return base::Fail(
        "ANL-0147", base::ExitCode::kInput,
        "the job has more data-parallel ranks and stages than are replayed "
        "one by one (4096)",
        trace.job.trial_name,
        "cut the trace to some data-parallel ranks, numbered from 0");
  }
  return WhatIfAnalysis(table, options).Run();
}

}  // namespace stepslack::analyze

#include "replay_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

namespace stepslack::analyze {
namespace {

// Durations of a step sum to less, so that no replay can leave 64 bits.
constexpr int64_t kMostStepNs = int64_t{1} << 60;
constexpr int32_t kNoRank = std::numeric_limits<int32_t>::max();

// One step of the trace: its rows by data-parallel rank, then stage, type and number.
struct StepRows {
  int64_t step = 0;
  std::vector<size_t> rows;
  size_t per_rank = 0;
  uint64_t signature = 0;  // of the operations of one rank
};

class TableBuilder {
 public:
  explicit TableBuilder(const trace::OpTrace& trace) : trace_(trace) {}
  base::Result<ReplayTable> Run();

 private:
  bool FindWorkers();
  void ReadSteps();
  void ReadStep(size_t from, size_t to);
  const char* Check(StepRows& step) const;
  bool SameOps(size_t a, size_t b) const;
  void KeepCommonest();
  void KeepLinked();
  base::Result<OpGraph> Link(const StepRows& step, std::vector<PipelineOp>& ops,
                             PipelineLinks& links) const;
  void Fill();
  void SubtractWaits(const std::vector<int64_t>& starts,
                     const std::vector<int64_t>& ends);
  void LeaveOut(std::string_view reason, int64_t step);

  const trace::OpTrace& trace_;
  ReplayTable table_;
  std::vector<StepRows> steps_;
};

base::Result<ReplayTable> TableBuilder::Run() {
  table_.size = {trace_.job.dp_size, trace_.job.pp_size, trace_.job.vpp_size};
  if (!FindWorkers()) {
    return base::Fail("ANL-0144", base::ExitCode::kInput,
                      fmt::format("a job of {} data-parallel ranks and {} stages has "
                                  "more workers than the trace has operations",
                                  trace_.job.dp_size, trace_.job.pp_size),
                      trace_.job.trial_name, "check dp_size and pp_size of the job");
  }
  ReadSteps();
  KeepCommonest();
  KeepLinked();
  if (steps_.empty()) {
    std::string reasons;
    for (const WhatIfLeftOut& left : table_.left_out) {
      reasons += fmt::format("{}{} ({} steps, first {})", reasons.empty() ? "" : "; ",
                             left.reason, left.steps, left.first_step);
    }
    return base::Fail("ANL-0145", base::ExitCode::kInput,
                      "no step of the op trace can be replayed: " + reasons,
                      trace_.job.trial_name,
                      "record whole steps of every data-parallel rank and stage");
  }
  Fill();
  return std::move(table_);
}

// The lowest rank of each (dp rank, stage).
bool TableBuilder::FindWorkers() {
  const int64_t workers = int64_t{table_.size.dp_size} * table_.size.pp_size;
  if (workers > static_cast<int64_t>(trace_.size())) return false;
  table_.rank_of.assign(static_cast<size_t>(workers), kNoRank);
  for (size_t i = 0; i < trace_.size(); ++i) {
    const int64_t worker =
        int64_t{trace_.dp_rank[i]} * table_.size.pp_size + trace_.stage[i];
    int32_t& rank = table_.rank_of[static_cast<size_t>(worker)];
    rank = std::min(rank, trace_.rank[i]);
  }
  return true;
}

void TableBuilder::LeaveOut(std::string_view reason, int64_t step) {
  for (WhatIfLeftOut& left : table_.left_out) {
    if (left.reason != reason) continue;
    ++left.steps;
    left.first_step = std::min(left.first_step, step);
    return;
  }
  table_.left_out.push_back({std::string(reason), 1, step});
}

void TableBuilder::ReadSteps() {
  for (size_t from = 0; from < trace_.size();) {
    size_t to = from;
    while (to < trace_.size() && trace_.step[to] == trace_.step[from]) ++to;
    ReadStep(from, to);
    from = to;
  }
}

void TableBuilder::ReadStep(size_t from, size_t to) {
  StepRows step;
  step.step = trace_.step[from];
  for (size_t i = from; i < to; ++i) {
    const int64_t worker =
        int64_t{trace_.dp_rank[i]} * table_.size.pp_size + trace_.stage[i];
    if (trace_.rank[i] == table_.rank_of[static_cast<size_t>(worker)]) {
      step.rows.push_back(i);
    } else {
      ++table_.ops_of_other_ranks;
    }
  }
  if (const char* reason = Check(step)) {
    LeaveOut(reason, step.step);
  } else {
    steps_.push_back(std::move(step));
  }
}

bool TableBuilder::SameOps(size_t a, size_t b) const {
  return trace_.stage[a] == trace_.stage[b] && trace_.type[a] == trace_.type[b] &&
         trace_.seq[a] == trace_.seq[b];
}

// nullptr when the step can be used on its own; then per_rank and signature are set.
const char* TableBuilder::Check(StepRows& step) const {
  int64_t total = 0;
  size_t workers = 0;
  std::pair<int32_t, int32_t> last{-1, -1};
  for (const size_t i : step.rows) {
    if (trace_.duration_ns[i] > kMostStepNs - total) return "times too long to sum";
    total += trace_.duration_ns[i];
    const std::pair<int32_t, int32_t> worker{trace_.dp_rank[i], trace_.stage[i]};
    if (worker != last) ++workers;
    last = worker;
  }
  if (workers != table_.workers()) return "a worker without operations";
  const auto ranks = static_cast<size_t>(table_.size.dp_size);
  if (step.rows.size() % ranks != 0)
    return "data-parallel ranks with unlike operations";
  step.per_rank = step.rows.size() / ranks;
  for (size_t i = step.per_rank; i < step.rows.size(); ++i) {
    if (static_cast<size_t>(trace_.dp_rank[step.rows[i]]) != i / step.per_rank ||
        !SameOps(step.rows[i - step.per_rank], step.rows[i])) {
      return "data-parallel ranks with unlike operations";
    }
  }
  step.signature = 0xcbf29ce484222325u;
  for (size_t i = 0; i < step.per_rank; ++i) {
    const size_t row = step.rows[i];
    for (const int32_t part :
         {trace_.stage[row], static_cast<int32_t>(trace_.type[row]), trace_.seq[row]}) {
      step.signature = (step.signature ^ static_cast<uint32_t>(part)) * 0x100000001b3u;
    }
  }
  return nullptr;
}

// Steps with the operations that most steps have; of equally many, the earliest.
void TableBuilder::KeepCommonest() {
  std::map<uint64_t, int64_t> counts;
  for (const StepRows& step : steps_) ++counts[step.signature];
  const StepRows* common = nullptr;
  for (const StepRows& step : steps_) {
    if (common == nullptr || counts[step.signature] > counts[common->signature]) {
      common = &step;
    }
  }
  if (common == nullptr) return;
  const StepRows first = *common;
  std::erase_if(steps_, [&](const StepRows& step) {
    const bool same = step.per_rank == first.per_rank &&
                      std::equal(step.rows.begin(), step.rows.end(), first.rows.begin(),
                                 [this](size_t a, size_t b) { return SameOps(a, b); });
    if (!same) LeaveOut("operations unlike those of most steps", step.step);
    return !same;
  });
}

base::Result<OpGraph> TableBuilder::Link(const StepRows& step,
                                         std::vector<PipelineOp>& ops,
                                         PipelineLinks& links) const {
  ops.clear();
  for (size_t i = 0; i < step.per_rank; ++i) {
    const size_t row = step.rows[i];
    ops.push_back({trace_.type[row], trace_.stage[row], trace_.seq[row],
                   trace_.chunk[row], trace_.global_chunk[row], trace_.start_ns[row],
                   trace_.start_ns[row] + trace_.duration_ns[row]});
  }
  SS_TRY(links, LinkPipeline(ops, table_.size));
  return OpGraph::Build(step.rows.size(), links.edges, links.groups);
}

// The first step that can be linked gives the graph; the others must agree with it.
void TableBuilder::KeepLinked() {
  bool linked = false;
  std::erase_if(steps_, [&](const StepRows& step) {
    std::vector<PipelineOp> ops;
    PipelineLinks links;
    base::Result<OpGraph> graph = Link(step, ops, links);
    if (!graph.has_value()) {
      LeaveOut(fmt::format("{}{}{}", graph.error().where,
                           graph.error().where.empty() ? "" : ": ", graph.error().what),
               step.step);
      return true;
    }
    if (linked && !(links == table_.links)) {
      LeaveOut("operations in another order than in the first step", step.step);
      return true;
    }
    if (!linked) {
      table_.graph = std::move(*graph);
      table_.links = std::move(links);
      table_.ops = std::move(ops);
      linked = true;
    }
    return false;
  });
}

void TableBuilder::Fill() {
  const size_t lanes = steps_.size();
  const size_t ops = table_.graph_ops();
  std::vector<int64_t> starts(ops * lanes);
  std::vector<int64_t> ends(ops * lanes);
  table_.durations_ns.resize(ops * lanes);
  for (size_t lane = 0; lane < lanes; ++lane) {
    const StepRows& step = steps_[lane];
    int64_t first = std::numeric_limits<int64_t>::max();
    int64_t last = std::numeric_limits<int64_t>::min();
    for (size_t op = 0; op < ops; ++op) {
      const size_t row = step.rows[op];
      const size_t at = op * lanes + lane;
      starts[at] = trace_.start_ns[row];
      ends[at] = trace_.start_ns[row] + trace_.duration_ns[row];
      table_.durations_ns[at] = trace_.duration_ns[row];
      first = std::min(first, starts[at]);
      last = std::max(last, ends[at]);
    }
    table_.steps.push_back(step.step);
    table_.measured_ns.push_back(last - first);
  }
  SubtractWaits(starts, ends);
}

// Clocks that differ can make an end precede the last start: nothing was transferred.
void TableBuilder::SubtractWaits(const std::vector<int64_t>& starts,
                                 const std::vector<int64_t>& ends) {
  const size_t lanes = steps_.size();
  for (const std::vector<OpIndex>& group : table_.links.groups) {
    for (size_t lane = 0; lane < lanes; ++lane) {
      int64_t last_start = std::numeric_limits<int64_t>::min();
      for (const OpIndex op : group) {
        last_start = std::max(last_start, starts[op * lanes + lane]);
      }
      for (const OpIndex op : group) {
        const size_t at = op * lanes + lane;
        table_.durations_ns[at] = std::max<int64_t>(ends[at] - last_start, 0);
      }
    }
  }
}

}  // namespace

base::Result<ReplayTable> MakeReplayTable(const trace::OpTrace& trace) {
  return TableBuilder(trace).Run();
}

}  // namespace stepslack::analyze

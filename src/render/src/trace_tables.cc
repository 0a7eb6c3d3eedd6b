#include <algorithm>
#include <map>
#include <string>

#include "stepslack/base/result.h"
#include "stepslack/render/trace_report.h"

namespace stepslack::render {
namespace {

using analyze::RankTrace;

double Ms(int64_t ns) { return static_cast<double>(ns) / 1e6; }
double Number(int64_t value) { return static_cast<double>(value); }

Table ByRank(const measure::TraceReport& report) {
  Table table{"Ranks",
              {"rank", "device", "steps", "span ms", "compute ms", "memory ms",
               "comm ms", "overlap ms", "exposed comm ms", "idle ms", "data ms"},
              {}};
  for (const RankTrace& rank : report.ranks) {
    const analyze::DeviceTimes& t = rank.total;
    table.rows.push_back({Number(rank.rank), rank.device,
                          Number(static_cast<int64_t>(rank.steps.size())),
                          Ms(t.span_ns), Ms(t.compute_ns), Ms(t.memory_ns),
                          Ms(t.comm_ns), Ms(t.overlap_ns), Ms(t.exposed_comm_ns),
                          Ms(t.idle_ns), Ms(rank.phases.data_ns)});
  }
  return table;
}

Table ByStep(const measure::TraceReport& report) {
  Table table{"Steps",
              {"rank", "step", "length ms", "compute ms", "memory ms", "comm ms",
               "exposed comm ms", "idle ms", "data ms", "forward ms", "backward ms",
               "optimizer ms"},
              {}};
  for (const RankTrace& rank : report.ranks) {
    for (const analyze::TraceStep& step : rank.steps) {
      const analyze::DeviceTimes& t = step.device;
      table.rows.push_back({Number(rank.rank), Number(step.step), Ms(t.span_ns),
                            Ms(t.compute_ns), Ms(t.memory_ns), Ms(t.comm_ns),
                            Ms(t.exposed_comm_ns), Ms(t.idle_ns),
                            Ms(step.phases.data_ns), Ms(step.phases.forward_ns),
                            Ms(step.phases.backward_ns), Ms(step.phases.optimizer_ns)});
    }
  }
  return table;
}

Table ByPhase(const measure::TraceReport& report) {
  Table table{"Phases of the host", {"rank", "phase", "ms", "share of window"}, {}};
  for (const RankTrace& rank : report.ranks) {
    const analyze::PhaseTimes& p = rank.phases;
    const std::pair<const char*, int64_t> phases[] = {{"data", p.data_ns},
                                                      {"forward", p.forward_ns},
                                                      {"backward", p.backward_ns},
                                                      {"optimizer", p.optimizer_ns},
                                                      {"zero_grad", p.zero_grad_ns},
                                                      {"eval", p.eval_ns},
                                                      {"checkpoint", p.checkpoint_ns}};
    const double window = Ms(rank.window_end_ns - rank.window_start_ns);
    for (const auto& [name, length_ns] : phases) {
      table.rows.push_back({Number(rank.rank), std::string(name), Ms(length_ns),
                            window > 0 ? Ms(length_ns) / window : 0.0});
    }
  }
  return table;
}

struct KernelSum {
  analyze::KernelKind kind = analyze::KernelKind::kCompute;
  int64_t count = 0;
  int64_t total_ns = 0;
  int64_t min_ns = 0;
  int64_t max_ns = 0;
  int64_t ranks = 0;
};

Table ByKernel(const measure::TraceReport& report) {
  std::map<std::string, KernelSum> kernels;
  int64_t all_ns = 0;
  for (const RankTrace& rank : report.ranks) {
    for (const analyze::KernelRow& row : rank.kernels) {
      KernelSum& sum = kernels[std::string(rank.strings.Get(row.name))];
      sum.kind = row.kind;
      sum.min_ns = sum.ranks == 0 ? row.min_ns : std::min(sum.min_ns, row.min_ns);
      sum.max_ns = std::max(sum.max_ns, row.max_ns);
      sum.count += row.count;
      sum.total_ns += row.total_ns;
      ++sum.ranks;
      all_ns += row.total_ns;
    }
  }
  std::vector<std::pair<std::string, KernelSum>> order(kernels.begin(), kernels.end());
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return a.second.total_ns > b.second.total_ns;
  });
  Table table{"Kernels",
              {"kernel", "kind", "ranks", "count", "total ms", "share", "mean us",
               "min us", "max us"},
              {}};
  for (const auto& [name, sum] : order) {
    table.rows.push_back({name, std::string(ToString(sum.kind)), Number(sum.ranks),
                          Number(sum.count), Ms(sum.total_ns),
                          all_ns > 0 ? Ms(sum.total_ns) / Ms(all_ns) : 0.0,
                          Ms(sum.total_ns) * 1e3 / Number(sum.count),
                          Ms(sum.min_ns) * 1e3, Ms(sum.max_ns) * 1e3});
  }
  return table;
}

Table ByStream(const measure::TraceReport& report) {
  Table table{"Streams",
              {"rank", "stream", "events", "busy ms", "idle: host ms",
               "idle: kernel gap ms", "idle: other ms", "queue mean", "queue max"},
              {}};
  for (const RankTrace& rank : report.ranks) {
    for (const analyze::StreamTimes& t : rank.streams) {
      table.rows.push_back({Number(rank.rank), Number(t.stream), Number(t.events),
                            Ms(t.busy_ns), Ms(t.host_bound_ns), Ms(t.kernel_gap_ns),
                            Ms(t.other_idle_ns), t.mean_queue, Number(t.max_queue)});
    }
  }
  return table;
}

// Operations over all ranks.
Table ByOperation(const measure::TraceReport& report) {
  Table table{"Collectives by operation",
              {"operation", "spans", "matched", "total ms", "wait ms", "transfer ms",
               "largest skew ms", "bus GB/s", "basis"},
              {}};
  if (!report.cross) return table;
  for (const analyze::OperationRow& row : report.cross->by_op) {
    table.rows.push_back(
        {row.op, Number(row.spans), Number(row.matched), Ms(row.total_ns),
         Ms(row.wait_ns), Ms(row.transfer_ns), Ms(row.max_start_skew_ns),
         row.bus_bandwidth_gbps ? Cell(*row.bus_bandwidth_gbps)
                                : Cell(std::string("n/a")),
         std::string(row.bandwidth_includes_waiting ? "includes waiting"
                                                    : "shortest rank")});
  }
  return table;
}

// Every matched collective; without matches, operations over all spans.
Table ByCollective(const measure::TraceReport& report) {
  if (!report.cross || report.cross->collectives.empty()) return ByOperation(report);
  Table table{
      "Collectives",
      {"operation", "group", "sequence", "ranks", "bytes", "skew ms", "last rank",
       "wait caused ms", "shortest ms", "bus GB/s", "last start ns"},
      {}};
  for (size_t i = 0; i < report.cross->collectives.size(); ++i) {
    const analyze::MatchedCollective& it = report.cross->collectives[i];
    const analyze::CollectiveRow& row = report.cross->rows[i];
    table.rows.push_back(
        {it.name, it.group, Number(it.seq),
         Number(static_cast<int64_t>(it.ranks.size())), Number(it.bytes),
         Ms(row.start_skew_ns),
         it.last_rank >= 0 ? std::to_string(it.last_rank) : std::string("tie"),
         Ms(it.wait_caused_ns), Ms(row.shortest_ns),
         row.bus_bandwidth_gbps ? Cell(*row.bus_bandwidth_gbps)
                                : Cell(std::string("n/a")),
         std::to_string(it.last_start_ns)});
  }
  return table;
}

}  // namespace

Table OperationTable(const measure::TraceReport& report) { return ByOperation(report); }

Table TraceTable(const measure::TraceReport& report, std::string_view by) {
  if (by == "step") return ByStep(report);
  if (by == "phase") return ByPhase(report);
  if (by == "kernel") return ByKernel(report);
  if (by == "stream") return ByStream(report);
  if (by == "collective") return ByCollective(report);
  SS_CHECK(by == "rank");
  return ByRank(report);
}

}  // namespace stepslack::render

#include "stepslack/analyze/trace_compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "stepslack/stats/intervals.h"

namespace stepslack::analyze {
namespace {

constexpr int64_t kLeastSteps = 3;

using StepTime = std::function<int64_t(const TraceStep&)>;
using TotalTime = std::function<int64_t(const RankTrace&)>;

// One quantity of one side.
struct Amount {
  int64_t count = 0;
  int64_t total_ns = 0;
  std::vector<double> per_step_ns;  // mean over ranks, by step number
};

struct StepSum {
  double total_ns = 0;
  double ranks = 0;
};

std::vector<double> Means(const std::map<int64_t, StepSum>& sums) {
  std::vector<double> means;
  for (const auto& [step, sum] : sums) means.push_back(sum.total_ns / sum.ranks);
  return means;
}

// How many ranks have each step number.
std::map<int64_t, StepSum> EmptySums(std::span<const RankTrace> traces) {
  std::map<int64_t, StepSum> sums;
  for (const RankTrace& trace : traces) {
    for (const TraceStep& step : trace.steps) sums[step.step].ranks += 1;
  }
  return sums;
}

std::string KindWord(KernelKind kind) {
  if (kind == KernelKind::kCommunication) return "communication";
  return kind == KernelKind::kMemory ? "memory" : "compute";
}

CompareSide SideOf(std::span<const RankTrace> traces) {
  CompareSide side;
  side.ranks = static_cast<int64_t>(traces.size());
  for (const RankTrace& trace : traces) {
    side.rank_steps += static_cast<int64_t>(trace.steps.size());
  }
  side.steps = static_cast<int64_t>(EmptySums(traces).size());
  return side;
}

bool AllHaveSteps(std::span<const RankTrace> traces) {
  return !traces.empty() &&
         std::all_of(traces.begin(), traces.end(),
                     [](const RankTrace& trace) { return !trace.steps.empty(); });
}

double Per(int64_t total, int64_t count) {
  return count == 0 ? 0.0 : static_cast<double>(total) / static_cast<double>(count);
}

base::Estimate PointRatio(const TimeDelta& delta, std::string method) {
  base::Estimate ratio;
  ratio.unit = "1";
  ratio.n_of = "steps";
  if (delta.a_ns > 0) {
    ratio.value = delta.b_ns / delta.a_ns;
    ratio.method = "ratio of totals; no interval: " + std::move(method);
  } else {
    ratio.method = "no ratio: A has no such time";
  }
  return ratio;
}

class Comparer {
 public:
  explicit Comparer(TraceComparison& result) : result_(result) {}

  TimeDelta Delta(std::string name, const Amount& a, const Amount& b,
                  bool has_steps) const {
    TimeDelta delta;
    delta.name = std::move(name);
    delta.count_a = a.count;
    delta.count_b = b.count;
    delta.total_a_ns = a.total_ns;
    delta.total_b_ns = b.total_ns;
    const auto units = [this](const CompareSide& side) {
      return result_.per_step ? side.rank_steps : side.ranks;
    };
    delta.a_ns = Per(a.total_ns, units(result_.a));
    delta.b_ns = Per(b.total_ns, units(result_.b));
    delta.delta_ns = delta.b_ns - delta.a_ns;
    delta.calls_a = Per(a.count, units(result_.a));
    delta.calls_b = Per(b.count, units(result_.b));
    delta.call_a_ns = Per(a.total_ns, a.count);
    delta.call_b_ns = Per(b.total_ns, b.count);
    delta.ratio = Ratio(delta, a, b, has_steps);
    return delta;
  }

 private:
  base::Estimate Ratio(const TimeDelta& delta, const Amount& a, const Amount& b,
                       bool has_steps) const {
    if (!has_steps) return PointRatio(delta, "kernels are totals of whole traces");
    if (!result_.per_step) return PointRatio(delta, "not every rank has steps");
    const auto steps =
        static_cast<int64_t>(a.per_step_ns.size() + b.per_step_ns.size());
    base::Estimate ratio;
    if (result_.a.steps < kLeastSteps || result_.b.steps < kLeastSteps) {
      ratio =
          PointRatio(delta, fmt::format("fewer than {} steps on a side ({} and {})",
                                        kLeastSteps, result_.a.steps, result_.b.steps));
    } else {
      ratio = stats::LogRatioInterval(b.per_step_ns, a.per_step_ns, "steps");
      if (!ratio.value) ratio = PointRatio(delta, "a step has none of it");
    }
    ratio.n = steps;
    return ratio;
  }

  TraceComparison& result_;
};

void SortByChange(std::vector<TimeDelta>& deltas) {
  std::sort(deltas.begin(), deltas.end(), [](const TimeDelta& x, const TimeDelta& y) {
    const double change_x = std::fabs(x.delta_ns);
    const double change_y = std::fabs(y.delta_ns);
    if (change_x != change_y) return change_x > change_y;
    return std::tie(x.name, x.kind) < std::tie(y.name, y.kind);
  });
}

Amount TimeOf(std::span<const RankTrace> traces, bool per_step, const StepTime& of_step,
              const TotalTime& of_trace) {
  Amount amount;
  std::map<int64_t, StepSum> sums = EmptySums(traces);
  for (const RankTrace& trace : traces) {
    if (!per_step) {
      amount.total_ns += of_trace(trace);
      continue;
    }
    for (const TraceStep& step : trace.steps) {
      amount.total_ns += of_step(step);
      sums[step.step].total_ns += static_cast<double>(of_step(step));
    }
  }
  amount.per_step_ns = Means(sums);
  return amount;
}

template <typename Field>
using NamedField = std::pair<const char*, int64_t Field::*>;

constexpr std::array<NamedField<DeviceTimes>, 8> kDeviceFields = {{
    {"span", &DeviceTimes::span_ns},
    {"idle", &DeviceTimes::idle_ns},
    {"compute", &DeviceTimes::compute_ns},
    {"memory", &DeviceTimes::memory_ns},
    {"comm", &DeviceTimes::comm_ns},
    {"overlap", &DeviceTimes::overlap_ns},
    {"exposed_comm", &DeviceTimes::exposed_comm_ns},
    {"exposed_comm_vs_all", &DeviceTimes::exposed_comm_vs_all_ns},
}};

constexpr std::array<NamedField<PhaseTimes>, 7> kPhaseFields = {{
    {"data", &PhaseTimes::data_ns},
    {"forward", &PhaseTimes::forward_ns},
    {"backward", &PhaseTimes::backward_ns},
    {"optimizer", &PhaseTimes::optimizer_ns},
    {"zero_grad", &PhaseTimes::zero_grad_ns},
    {"eval", &PhaseTimes::eval_ns},
    {"checkpoint", &PhaseTimes::checkpoint_ns},
}};

Presence PresenceOf(bool in_a, bool in_b) {
  if (in_a && in_b) return Presence::kBoth;
  return in_a ? Presence::kOnlyA : Presence::kOnlyB;
}

void CompareFields(std::span<const RankTrace> a, std::span<const RankTrace> b,
                   TraceComparison& result) {
  const Comparer comparer(result);
  const auto add = [&](const char* name, const StepTime& step, const TotalTime& total,
                       std::vector<TimeDelta>& out) {
    const Amount in_a = TimeOf(a, result.per_step, step, total);
    const Amount in_b = TimeOf(b, result.per_step, step, total);
    if (in_a.total_ns == 0 && in_b.total_ns == 0) return;
    out.push_back(comparer.Delta(name, in_a, in_b, true));
    out.back().presence = PresenceOf(in_a.total_ns != 0, in_b.total_ns != 0);
  };
  for (const auto& [name, field] : kDeviceFields) {
    const auto member = field;
    add(
        name, [member](const TraceStep& step) { return step.device.*member; },
        [member](const RankTrace& trace) { return trace.total.*member; },
        result.device);
  }
  for (const auto& [name, field] : kPhaseFields) {
    const auto member = field;
    add(
        name, [member](const TraceStep& step) { return step.phases.*member; },
        [member](const RankTrace& trace) { return trace.phases.*member; },
        result.phases);
  }
  SortByChange(result.device);
  SortByChange(result.phases);
}

using KernelKey = std::pair<std::string, KernelKind>;

std::map<KernelKey, Amount> KernelsOf(std::span<const RankTrace> traces) {
  std::map<KernelKey, Amount> kernels;
  for (const RankTrace& trace : traces) {
    for (const KernelRow& row : trace.kernels) {
      Amount& amount = kernels[{std::string(trace.strings.Get(row.name)), row.kind}];
      amount.count += row.count;
      amount.total_ns += row.total_ns;
    }
  }
  return kernels;
}

void CompareKernels(std::span<const RankTrace> a, std::span<const RankTrace> b,
                    TraceComparison& result) {
  const Comparer comparer(result);
  const std::map<KernelKey, Amount> in_a = KernelsOf(a);
  const std::map<KernelKey, Amount> in_b = KernelsOf(b);
  std::set<KernelKey> keys;
  for (const auto& [key, amount] : in_a) keys.insert(key);
  for (const auto& [key, amount] : in_b) keys.insert(key);
  for (const KernelKey& key : keys) {
    const auto at_a = in_a.find(key);
    const auto at_b = in_b.find(key);
    TimeDelta delta =
        comparer.Delta(key.first, at_a == in_a.end() ? Amount() : at_a->second,
                       at_b == in_b.end() ? Amount() : at_b->second, false);
    delta.kind = KindWord(key.second);
    delta.presence = PresenceOf(at_a != in_a.end(), at_b != in_b.end());
    result.kernels.push_back(std::move(delta));
  }
  SortByChange(result.kernels);
}

// The step that contains the instant, or null.
const TraceStep* StepAt(const RankTrace& trace, int64_t at_ns) {
  const auto after = std::upper_bound(
      trace.steps.begin(), trace.steps.end(), at_ns,
      [](int64_t at, const TraceStep& step) { return at < step.start_ns; });
  if (after == trace.steps.begin()) return nullptr;
  const TraceStep& step = *std::prev(after);
  return at_ns < step.end_ns ? &step : nullptr;
}

std::map<std::string, Amount> CollectivesOf(std::span<const RankTrace> traces,
                                            bool per_step, CompareSide& side) {
  std::map<std::string, Amount> ops;
  std::map<std::string, std::map<int64_t, StepSum>> sums;
  const std::map<int64_t, StepSum> empty = EmptySums(traces);
  for (const RankTrace& trace : traces) {
    for (const CollectiveSpan& span : trace.collectives) {
      const TraceStep* step = StepAt(trace, span.start_ns);
      if (per_step && step == nullptr) {
        ++side.collectives_outside;
        continue;
      }
      const std::string op =
          span.op == 0 ? "(not known)" : std::string(trace.strings.Get(span.op));
      Amount& amount = ops[op];
      ++amount.count;
      amount.total_ns += span.end_ns - span.start_ns;
      if (!per_step) continue;
      const auto at = sums.try_emplace(op, empty).first;
      at->second[step->step].total_ns +=
          static_cast<double>(span.end_ns - span.start_ns);
    }
  }
  for (auto& [op, amount] : ops) {
    if (per_step) amount.per_step_ns = Means(sums[op]);
  }
  return ops;
}

void CompareCollectives(std::span<const RankTrace> a, std::span<const RankTrace> b,
                        TraceComparison& result) {
  const std::map<std::string, Amount> in_a =
      CollectivesOf(a, result.per_step, result.a);
  const std::map<std::string, Amount> in_b =
      CollectivesOf(b, result.per_step, result.b);
  const Comparer comparer(result);
  std::set<std::string> ops;
  for (const auto& [op, amount] : in_a) ops.insert(op);
  for (const auto& [op, amount] : in_b) ops.insert(op);
  for (const std::string& op : ops) {
    const auto at_a = in_a.find(op);
    const auto at_b = in_b.find(op);
    TimeDelta delta =
        comparer.Delta(op, at_a == in_a.end() ? Amount() : at_a->second,
                       at_b == in_b.end() ? Amount() : at_b->second, true);
    delta.presence = PresenceOf(at_a != in_a.end(), at_b != in_b.end());
    result.collectives.push_back(std::move(delta));
  }
  SortByChange(result.collectives);
}

std::string BasisText(const TraceComparison& result) {
  const auto side = [&](const char* name, const CompareSide& s) {
    if (!result.per_step) return fmt::format("{} {} ranks", name, s.ranks);
    return fmt::format("{} {} ranks, {} steps, {} rank-steps", name, s.ranks, s.steps,
                       s.rank_steps);
  };
  return fmt::format("{}: {}; {}",
                     result.per_step
                         ? "per rank-step"
                         : "whole traces, per rank (not every rank has steps)",
                     side("A", result.a), side("B", result.b));
}

}  // namespace

std::string_view ToString(Presence presence) {
  if (presence == Presence::kBoth) return "both";
  return presence == Presence::kOnlyA ? "vanished" : "new";
}

TraceComparison CompareTraces(std::span<const RankTrace> a,
                              std::span<const RankTrace> b) {
  TraceComparison result;
  result.a = SideOf(a);
  result.b = SideOf(b);
  result.per_step = AllHaveSteps(a) && AllHaveSteps(b);
  result.basis = BasisText(result);
  CompareFields(a, b, result);
  CompareKernels(a, b, result);
  CompareCollectives(a, b, result);
  return result;
}

}  // namespace stepslack::analyze

#include "stepslack/analyze/pop_factors.h"

#include <fmt/format.h>

#include <algorithm>

#include "ideal_replay.h"
#include "rank_activity.h"

namespace stepslack::analyze {
namespace {

// More spans without partners than this share: their transfers could not be removed.
constexpr double kMaxUnmatchedShare = 0.1;

// Useful time on the rank's own clock: the window is moved, not the intervals.
int64_t UsefulNs(const RankTrace& trace, trace::Interval window, int64_t correction) {
  return trace.compute.Clip({window.start_ns + correction, window.end_ns + correction})
      .LengthNs();
}

void AddIdeal(const RankWindows& windows, const CrossRank& cross, double max_useful,
              PopFactors& pop) {
  if (!cross.waits) {
    pop.reasons.insert(pop.reasons.end(), cross.reasons.begin(), cross.reasons.end());
    return;
  }
  if (static_cast<double>(cross.unmatched) >
      kMaxUnmatchedShare * static_cast<double>(cross.spans)) {
    pop.reasons.push_back(
        fmt::format("{} of {} spans of communication have no partners, so their "
                    "transfers can not be told from waits",
                    cross.unmatched, cross.spans));
    return;
  }
  pop.ideal_runtime_ns = ReplayWithoutTransfer(windows, cross);
  const double ideal = static_cast<double>(*pop.ideal_runtime_ns);
  pop.serialisation = max_useful / ideal;
  pop.transfer = ideal / static_cast<double>(pop.runtime_ns);
}

}  // namespace

PopFactors MeasurePop(std::span<const RankTrace> traces, const CrossRank& cross) {
  PopFactors pop;
  if (!cross.all_ranks) {
    pop.reasons = cross.reasons;
    return pop;
  }
  const bool one_device = std::all_of(
      traces.begin(), traces.end(),
      [&traces](const RankTrace& trace) { return trace.device == traces[0].device; });
  if (!one_device) {
    pop.reasons.push_back(
        "some ranks were measured on their device and others on the CPU only; their "
        "useful times can not be compared");
    return pop;
  }
  const RankWindows windows = WindowsOf(traces, cross);
  pop.window = windows.steps ? fmt::format("steps {} to {}", windows.first_step,
                                           windows.last_step)
                             : "whole trace";
  double sum = 0;
  int64_t longest = 0;
  int64_t max_useful = 0;
  for (size_t r = 0; r < windows.traces.size(); ++r) {
    const trace::Interval window = windows.windows[r];
    UsefulTime of{windows.traces[r]->rank, 0, window.end_ns - window.start_ns};
    of.useful_ns = UsefulNs(*windows.traces[r], window, windows.corrections[r]);
    sum += static_cast<double>(of.useful_ns);
    longest = std::max(longest, of.window_ns);
    max_useful = std::max(max_useful, of.useful_ns);
    pop.by_rank.push_back(of);
  }
  pop.runtime_ns = cross.waits ? windows.LastNs() - windows.FirstNs() : longest;
  if (max_useful <= 0 || pop.runtime_ns <= 0) {
    pop.reasons.push_back("no rank computes in the window");
    return pop;
  }
  const double mean = sum / static_cast<double>(pop.by_rank.size());
  const double runtime = static_cast<double>(pop.runtime_ns);
  pop.parallel_efficiency = mean / runtime;
  pop.load_balance = mean / static_cast<double>(max_useful);
  pop.communication_efficiency = static_cast<double>(max_useful) / runtime;
  AddIdeal(windows, cross, static_cast<double>(max_useful), pop);
  return pop;
}

base::Json ToJson(const PopFactors& pop) {
  const auto or_null = [](const auto& value) {
    return value ? base::Json(*value) : base::Json();
  };
  base::Json json;
  json.Set("window", pop.window.empty() ? base::Json() : base::Json(pop.window));
  json.Set("runtime_ns",
           pop.by_rank.empty() ? base::Json() : base::Json(pop.runtime_ns));
  json.Set("ideal_runtime_ns", or_null(pop.ideal_runtime_ns));
  json.Set("parallel_efficiency", or_null(pop.parallel_efficiency));
  json.Set("load_balance", or_null(pop.load_balance));
  json.Set("communication_efficiency", or_null(pop.communication_efficiency));
  json.Set("serialisation", or_null(pop.serialisation));
  json.Set("transfer", or_null(pop.transfer));
  base::Json by_rank{base::Json::Array{}};
  for (const UsefulTime& of : pop.by_rank) {
    base::Json row;
    row.Set("rank", of.rank);
    row.Set("useful_ns", of.useful_ns);
    row.Set("window_ns", of.window_ns);
    by_rank.Append(std::move(row));
  }
  json.Set("by_rank", std::move(by_rank));
  base::Json reasons{base::Json::Array{}};
  for (const std::string& reason : pop.reasons) reasons.Append(reason);
  json.Set("reasons", std::move(reasons));
  return json;
}

}  // namespace stepslack::analyze

#include "hta_notes.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <functional>

namespace stepslack::measure {
namespace {

using analyze::RankTrace;

bool HasFractions(const trace::IntervalSet& set) {
  return std::any_of(set.intervals().begin(), set.intervals().end(),
                     [](const trace::Interval& interval) {
                       return interval.start_ns % 1000 != 0 ||
                              interval.end_ns % 1000 != 0;
                     });
}

// HTA knows communication by these beginnings, or "ncclKernel" anywhere.
bool HtaKnows(std::string_view name) {
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower.starts_with("nccl") || lower.starts_with("hip") ||
         lower.starts_with("hccl") || name.find("ncclKernel") != std::string_view::npos;
}

bool HasUnknownComm(const RankTrace& rank) {
  return std::any_of(rank.kernels.begin(), rank.kernels.end(), [&](const auto& row) {
    return row.kind == analyze::KernelKind::kCommunication &&
           !HtaKnows(rank.strings.Get(row.name));
  });
}

struct Rule {
  const char* code;
  const char* text;
  bool (*applies)(const RankTrace& rank);
};

constexpr std::array<Rule, 6> kRules = {{
    {"HTA-ROUND",
     "times have fractions of a microsecond; HTA rounds starts up and ends down to "
     "whole "
     "microseconds, which shortens every span",
     [](const RankTrace& rank) {
       return HasFractions(rank.compute) || HasFractions(rank.comm) ||
              HasFractions(rank.memory);
     }},
    {"HTA-STEP",
     "HTA drops everything from the start of the last profiler step; here the whole "
     "trace counts",
     [](const RankTrace& rank) {
       return rank.step_source == analyze::StepSource::kProfilerStep &&
              rank.steps.size() > 1;
     }},
    {"HTA-COMM",
     "communication kernels whose names HTA does not know; it counts them as compute",
     HasUnknownComm},
    {"HTA-LAUNCH", "device events whose launch lies outside the window; HTA drops them",
     [](const RankTrace& rank) {
       // A trace without any launches says nothing about launches.
       return rank.launches.matched > 0 && rank.launches.kernels_without_launch > 0;
     }},
    {"HTA-CPUOP",
     "CPU operators that carry a stream argument; HTA counts them as kernels",
     [](const RankTrace& rank) {
       return rank.stats.Count(trace::kOperatorOnStream) > 0;
     }},
    {"HTA-SYNC", "waits of the device (cuda_sync); HTA counts them as busy",
     [](const RankTrace& rank) { return rank.stats.Count(trace::kSyncOnDevice) > 0; }},
}};

}  // namespace

std::vector<Footnote> HtaNotes(std::span<const RankTrace> ranks) {
  std::vector<Footnote> notes;
  for (const Rule& rule : kRules) {
    Footnote note{rule.code, rule.text, {}};
    for (const RankTrace& rank : ranks) {
      if (rank.device == "gpu" && rule.applies(rank)) note.ranks.push_back(rank.rank);
    }
    if (!note.ranks.empty()) notes.push_back(std::move(note));
  }
  return notes;
}

}  // namespace stepslack::measure

// The multiplicative efficiency model of the POP centre of excellence (Performance
// Optimisation and Productivity; Rosas, Gimenez, Labarta 2014, "Scalability prediction
// for fundamental performance factors") for one window of a training run:
//
//   parallel efficiency = load balance x communication efficiency
//   communication efficiency = serialisation x transfer
//
// useful_r: time of rank r in its window with compute on the device.
// runtime: first start to last end of the windows on the common clock.
// ideal runtime: the same work on a network that transfers in no time, by a replay that
// keeps every rank's compute, copies, idle time and order, drops exposed transfers, and
// ends a wait when the last rank arrives in the replay.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stepslack/analyze/cross_rank.h"

namespace stepslack::analyze {

struct UsefulTime {
  int32_t rank = 0;
  int64_t useful_ns = 0;
  int64_t window_ns = 0;
};

struct PopFactors {
  std::string window;  // "steps 3 to 7", "whole trace"
  // The last rank's end minus the first rank's start; without compared clocks the
  // longest window of one rank.
  int64_t runtime_ns = 0;
  std::optional<int64_t> ideal_runtime_ns;
  std::vector<UsefulTime> by_rank;  // ascending rank

  // All in (0, 1].
  std::optional<double> parallel_efficiency;       // mean useful / runtime
  std::optional<double> load_balance;              // mean useful / max useful
  std::optional<double> communication_efficiency;  // max useful / runtime
  std::optional<double> serialisation;             // max useful / ideal runtime
  std::optional<double> transfer;                  // ideal runtime / runtime
  std::vector<std::string> reasons;                // why something is absent
};

// Every factor is absent when ranks are missing, doubled or alone; serialisation and
// transfer are absent too when `cross` has no waits, or when more than a tenth of the
// spans have no partners (their transfers could not be removed).
// O(n log n) in intervals and spans.
PopFactors MeasurePop(std::span<const RankTrace> traces, const CrossRank& cross);

base::Json ToJson(const PopFactors& pop);

}  // namespace stepslack::analyze

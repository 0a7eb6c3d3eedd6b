// How long collectives take on this machine: measured by `stepslack bench comm`, fitted
// with Hockney's model t = alpha + beta * bytes (Parallel Computing 20, 1994), stored
// in the room, and read by Connect to choose a transport.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stepslack/base/json.h"
#include "stepslack/base/result.h"

namespace stepslack::comm {

struct CostPoint {
  int64_t bytes = 0;
  double min_us = 0;
  double p10_us = 0;
  double median_us = 0;
};

struct CostFit {
  double alpha_us = 0;     // >= 0
  double us_per_byte = 0;  // >= 0
  double worst_ratio = 1;  // of measured and fitted p10, whichever is larger on top
  double At(int64_t bytes) const {
    return alpha_us + us_per_byte * static_cast<double>(bytes);
  }
};

// Least squares of the relative error of p10 over non-negative alpha and beta; no point
// has bytes or time of 0 or less. Empty input gives zeros.
CostFit FitCost(std::span<const CostPoint> points);

struct CostCurve {
  std::string backend;            // "shm", "gloo", "mpi"; "memcpy": the yardstick
  std::string algorithm;          // as the transport names it
  std::string collective;         // "all_reduce"
  std::vector<CostPoint> points;  // by bytes
  CostFit fit;
};

struct CostTable {
  std::string hardware;  // HardwareTag() of where it was measured
  std::string measured_utc;
  int ranks = 0;
  std::vector<CostCurve> curves;
};

// First 16 hex digits of the digest over the processor's model and the machine's cores.
std::string HardwareTag();

base::Json ToJson(const CostTable& table);
// COMM-0051: not a table of this version.
base::Result<CostTable> CostTableFromJson(const base::Json& json,
                                          std::string_view name);

// The backend of `candidates` with the least fitted time for an all-reduce of `bytes`.
// Nothing when the table is of other hardware or another number of ranks, or knows
// none of them.
std::optional<std::string> CheapestBackend(const CostTable& table, int ranks,
                                           int64_t bytes,
                                           std::span<const std::string> candidates);

// GlooOptions::all_reduce by the measured sizes of `backend`, each with its fastest
// algorithm; "" when the table is of other hardware or ranks or compares none. Only
// algorithms that leave the same bits are compared (all_reduce_schedule.h), so that a
// new measurement changes no result: doubling and halving_doubling, and tree where
// `ranks` is a power of two.
std::string AllReduceRulesFrom(const CostTable& table, int ranks,
                               std::string_view backend);

}  // namespace stepslack::comm

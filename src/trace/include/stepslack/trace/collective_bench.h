// Reads the results of collective benchmarks into one table of message sizes:
//
// * the text of nccl-tests and rccl-tests, with or without lines of other programs
//   around it and mpirun's tags in front; columns are taken from the header line, so
//   that versions with and without `root` or with `error` for `#wrong` are read alike;
// * CSV with a header of bytes, time and bandwidths;
// * the per-rank text of the all_reduce_bench scripts ("3:", "duration: ...", "algo
//   throughput: ... bps, ... Gbps", "busbw: ... Gbps"), lines of several ranks mixed.
//
// Rates are GB/s with 1e9 bytes, times int64 ns taken from the decimal text. Definition
// of the bus bandwidth: doc/PERFORMANCE.md of NVIDIA/nccl-tests.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stepslack/base/json.h"
#include "stepslack/base/result.h"
#include "stepslack/trace/import_stats.h"

namespace stepslack::trace {

enum class BenchFormat { kNcclTests, kCsv, kPerRankText };
std::string_view ToString(BenchFormat format);

struct BenchTiming {
  int64_t time_ns = 0;
  double algorithm_gb_per_s = 0;  // 0: not given
  double bus_gb_per_s = 0;
  int64_t wrong = -1;  // values that were not what they should be; -1: not checked
};

struct BenchRow {
  int64_t bytes = 0;
  int64_t elements = 0;   // 0: not given
  std::string dtype;      // "float"
  std::string reduction;  // "sum", "none"
  int64_t root = -1;
  int32_t rank = -1;  // per-rank text only; -1: mixed with other ranks, or not said
  std::optional<BenchTiming> out_of_place;
  std::optional<BenchTiming> in_place;
};

struct BenchRank {
  int32_t rank = 0;
  std::string host;
  int64_t process = 0;
  int64_t device = -1;
  std::string bus_id;  // "0000:04:00"
  std::string model;   // "NVIDIA H100 80GB HBM3"
};

struct CollectiveBench {
  BenchFormat format = BenchFormat::kNcclTests;
  std::string collective;  // "all_reduce"; "" when the text does not say
  std::string version;     // the line that names the version, without '#'
  std::string settings;    // the line "nThread 1 nGpus 1 minBytes ..."
  std::vector<BenchRank> ranks;
  int64_t world_size = 0;  // ranks listed, or from busbw / algbw; 0: not known
  std::vector<BenchRow> rows;
  std::optional<double> average_bus_gb_per_s;  // as printed
  std::optional<int64_t> out_of_bounds;        // "Out of bounds values"
  // What was concluded and not read: "busbw_gbps holds GB/s: ...".
  std::vector<std::string> notes;
  ImportStats stats;
};

bool LooksLikeCollectiveBench(std::string_view head);

// Errors: TRACE-0120 (no row of a benchmark is in the text).
base::Result<CollectiveBench> ParseCollectiveBench(std::string_view text,
                                                   std::string_view name);

base::Json ToJson(const CollectiveBench& bench);

}  // namespace stepslack::trace

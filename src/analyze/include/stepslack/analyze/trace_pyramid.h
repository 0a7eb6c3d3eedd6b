// A summary of many ranks at several resolutions, for drawing: where every nanosecond
// of every rank went, in tiles of fixed width, in bounded memory.
//
// A level is a table of rows x tiles. A row is one rank, or `ranks_per_row` neighbours
// (in order of rank) merged, so that a level that shows thousands of ranks can still be
// fine in time. For every way of merging, the finest level is as fine as the memory cap
// allows, and each further one has tiles four times as wide:
//
//   ranks per row   1: tile w0, 4 w0, 16 w0, ... until at most 16 tiles are left
//   ranks per row  16: the same with a finer w0; only when more than 64 rows remain
//   ranks per row 256: ...
//   ranks per row   1, of a few ranks only (the focus): as fine as their number allows;
//                      only when rows are merged at all
//
// The parts of a tile are disjoint and exact (integer ns): inside the span of a rank
// (first start to last end of device activity) they sum to the width of the tile,
// outside they are 0. Over a whole row of one rank they sum to `PyramidRank::total`,
// which agrees with DeviceTimes: comm = exposed + overlapped, idle is the same.
// Of merged rows a tile holds the sum over the ranks, and which rank has the longest
// exposed communication in it, so that one bad rank among many does not disappear.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stepslack/analyze/rank_trace.h"
#include "stepslack/base/result.h"

namespace stepslack::analyze {

// Disjoint parts of a stretch of time.
struct TimeSplit {
  int64_t compute_ns = 0;          // compute and no communication
  int64_t comm_exposed_ns = 0;     // communication and no compute
  int64_t comm_overlapped_ns = 0;  // both at once
  int64_t memory_ns = 0;           // copies and sets, neither of the others
  int64_t idle_ns = 0;             // nothing, inside the rank's span

  int64_t SumNs() const {
    return compute_ns + comm_exposed_ns + comm_overlapped_ns + memory_ns + idle_ns;
  }
  TimeSplit& operator+=(const TimeSplit& other);
  friend bool operator==(const TimeSplit&, const TimeSplit&) = default;
};

struct PyramidTile {
  TimeSplit sum;                 // over the ranks of the row
  int64_t worst_exposed_ns = 0;  // of the rank with the most exposed communication
  int32_t worst_row = -1;        // its index in TracePyramid::ranks; ties: the first;
                                 // -1: no rank has any here
};

struct PyramidLevel {
  int64_t tile_ns = 0;  // tile t covers [t, t + 1) * tile_ns since the origin
  size_t tiles = 0;
  size_t ranks_per_row = 1;
  size_t rows = 0;
  std::vector<int32_t> focus;  // indices into TracePyramid::ranks, ascending, one per
                               // row; empty: the rows are all ranks
  std::vector<PyramidTile> data;  // rows x tiles, row-major

  const PyramidTile& At(size_t row, size_t tile) const {
    return data[row * tiles + tile];
  }
  size_t Bytes() const { return rows * tiles * sizeof(PyramidTile); }
};

struct PyramidRank {
  int32_t rank = -1;
  size_t trace = 0;       // index into the input
  int64_t offset_ns = 0;  // added to the times of its trace
  int64_t first_ns = 0;   // span of device activity since the origin; empty: equal
  int64_t last_ns = 0;
  TimeSplit total;
};

struct TracePyramid {
  int64_t origin_ns = 0;  // earliest start of any rank, step or phase, corrected clocks
  int64_t length_ns = 0;  // to the latest end
  std::vector<PyramidRank> ranks;  // ascending by rank, then by input order
  // By ranks_per_row, then finest first; those of the focus come last.
  std::vector<PyramidLevel> levels;
};

struct PyramidOptions {
  size_t max_bytes = size_t{10} << 20;  // of the tiles of all levels together
  int64_t min_tile_ns = 1000;           // no finer than this
  size_t merge = 16;           // rows merged from one kind of level to the next
  size_t rows_enough = 64;     // no further merging at so few rows
  size_t focus_count = 16;     // ranks in the focus, 0: no such levels
  std::vector<int32_t> focus;  // their numbers; empty: of the worst steps
};

// `offsets_ns` is empty, or has one entry per trace that is added to its times.
// Deterministic. Time: ranks x tiles of the finest level, plus intervals. Memory: at
// most max_bytes (at least one tile per row) plus one row and 96 bytes per rank. When a
// rank would get fewer than 8 tiles, the finest kind of rows is left out.
// Errors: RENDER-0150 (another number of offsets than traces), RENDER-0151 (times too
// far apart to be of one run), RENDER-0152 (an offset beyond 36 years).
base::Result<TracePyramid> BuildPyramid(std::span<const RankTrace> traces,
                                        std::span<const int64_t> offsets_ns = {},
                                        const PyramidOptions& options = {});

// The rank-steps that lost the most time: exposed communication plus idle.
struct WorstStep {
  int32_t rank = -1;
  int64_t step = 0;
  int64_t start_ns = 0;  // since the origin of the pyramid
  int64_t end_ns = 0;
  int64_t exposed_comm_ns = 0;
  int64_t idle_ns = 0;
};

// At most `count`, most lost first; ties by rank, then by start.
std::vector<WorstStep> FindWorstSteps(std::span<const RankTrace> traces,
                                      const TracePyramid& pyramid, size_t count);

}  // namespace stepslack::analyze

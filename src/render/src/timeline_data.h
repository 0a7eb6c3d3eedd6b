// The data block of the timeline page: what the script draws, as JSON with
// little-endian arrays in base64.
//
//   lengthNs, unitNs        times in the arrays are multiples of unitNs since the
//   origin rank, first, last       int32 numbers, uint32 spans, one per row of one rank
//   levels[]                tileNs, tiles, ranksPerRow, rows, bytesPerTile, data:
//   shares
//                           of compute, overlapped, exposed, memory in 255ths of the
//                           tile (rest: idle); merged rows add the index in the row of
//                           the worst rank and its exposed share; focus: the ranks
//                           that the rows are, when not all
//   steps, phases,          at (rank i has entries at[i] .. at[i + 1]), start, end,
//   collectives             value (step, phase, index into names), wait (2^32 - 1: not
//                           known)
//   names[]                 of collectives
//   worst[]                 row, start, end (ns)
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "stepslack/base/json.h"
#include "stepslack/render/timeline_html.h"

namespace stepslack::render {

struct TimelineLimits {
  size_t steps = 8000;  // of all ranks together
  size_t phases = 10000;
  size_t collectives = 8000;
  size_t finest_left_out = 0;  // levels dropped of each kind of row
};

// What is not in the block.
struct TimelineDropped {
  int64_t steps = 0;
  int64_t phases = 0;
  int64_t collectives = 0;
  int64_t ranks_without_marks = 0;  // that have some
  int64_t levels = 0;
};

base::Json TimelineData(const TimelinePage& page,
                        const std::vector<TimelinePlace>& worst,
                        const TimelineLimits& limits, TimelineDropped& dropped);

// Row of a rank, or -1.
int64_t RowOfRank(const analyze::TracePyramid& pyramid, int32_t rank);

}  // namespace stepslack::render

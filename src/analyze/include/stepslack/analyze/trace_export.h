// One trace file of all ranks for Perfetto and other viewers of the Kineto dialect,
// with the clocks of the ranks corrected and the verdicts of an analysis as a process
// of their own.
//
// Process = rank ("rank 3"); thread = a small number per original (process, thread) of
// the rank's file. Times are exact to the nanosecond: microseconds with three decimals
// after a base time near the start, so that a viewer that keeps doubles loses nothing
// within months. Sources are read one at a time; memory follows the largest one.
//
// Kept of an event: category, name, start, duration, and for collectives operation,
// group, sequence number, group size and message bytes (written as "In msg nelems" of
// dtype "Byte": the element type is not kept). Other arguments and flows are not.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "stepslack/base/result.h"
#include "stepslack/trace/import_stats.h"

namespace stepslack::analyze {

struct ExportSource {
  std::string path;
  int32_t rank = 0;
  int64_t offset_ns = 0;  // added to every time of this file
};

// A finding to show, on the corrected clock.
struct VerdictMark {
  int32_t rank = -1;  // -1: of all ranks
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  std::string label;   // "straggler: exposed communication"
  std::string detail;  // a sentence; may be empty
};

struct Written {
  int64_t ranks = 0;
  int64_t events = 0;  // of the sources
  int64_t marks = 0;
  int64_t truncated = 0;     // sources that ended inside an event
  int64_t bytes = 0;         // of the file
  trace::ImportStats stats;  // of all sources
};

// `world_size`: of the job, as distributedInfo says it in the file; 0: not known.
// Gzip-compressed when `output` ends in ".gz". Several sources may be of one rank;
// their threads stay apart. Errors: those of trace::ReadKinetoTrace; RENDER-0153,
// RENDER-0154 (cannot write); RENDER-0155 (no sources), RENDER-0156 (an offset or mark
// beyond the limits of time, a rank below 0), RENDER-0157 (the output is one of the
// sources). After an error no file is left.
base::Result<Written> ExportMerged(std::span<const ExportSource> sources,
                                   std::span<const VerdictMark> marks,
                                   const std::string& output, int64_t world_size = 0);

}  // namespace stepslack::analyze

// The timeline of all ranks as one HTML page to look into: zoom, pan, read off, jump to
// the worst places. The file needs nothing else and can not contact a network: its
// content security policy allows one script, by digest, and inline styles. Without
// script the table of the ranks remains.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "stepslack/analyze/rank_trace.h"
#include "stepslack/analyze/trace_pyramid.h"

namespace stepslack::render {

// How long a collective waited for other ranks before data moved, on one rank.
struct CollectiveWait {
  int32_t rank = -1;
  int64_t start_ns = 0;  // that of the CollectiveSpan, on the clock of its trace
  int64_t wait_ns = 0;   // held between 0 and the length of the span
};

// A place that the list "Worst places" leads to.
struct TimelinePlace {
  int32_t rank = -1;
  int64_t step = -1;     // -1: no step
  int64_t start_ns = 0;  // since the origin of the pyramid
  int64_t end_ns = 0;
  std::string text;  // "exposed communication 12.3 ms"
};

struct TimelinePage {
  std::string title;
  std::string note;                            // a line below the title; may be empty
  std::span<const analyze::RankTrace> traces;  // those the pyramid was built from
  const analyze::TracePyramid* pyramid = nullptr;  // not null
  std::span<const CollectiveWait> waits;           // absent ones: not known
  std::span<const TimelinePlace> worst;  // empty: the steps that lost the most time
};

inline constexpr size_t kMostTimelineBytes = 2'000'000;

// At most kMostTimelineBytes: the finest levels of the pyramid, phases and collectives
// (the shortest of a rank, then whole ranks) are left out until it fits; the page says
// what is missing. The same input gives the same bytes.
std::string RenderTimelineHtml(const TimelinePage& page);

}  // namespace stepslack::render

// From the spans of a timeline to a bounded number of rectangles.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "stepslack/render/report.h"

namespace stepslack::render {

// Phases with a name, colour and hatch of their own; the rest is drawn as "other".
inline constexpr size_t kMostPhases = 20;

struct TimelineMark {
  int lane = 0;
  size_t phase = 0;  // index into TimelineMarks::phases
  double start_ms = 0;
  double end_ms = 0;
};

struct TimelineMarks {
  std::vector<std::string> phases;  // in order of first start; the last may be "other"
  std::vector<TimelineMark> marks;  // by lane, then start
  double start_ms = 0;              // of all drawn spans
  double end_ms = 0;
  size_t merged_spans = 0;    // that share a mark with others
  size_t merged_marks = 0;    // how many marks those became
  double merge_ms = 0;        // spans shorter than this may have been merged
  size_t other_phases = 0;    // names that are drawn as "other"
  size_t unusable_spans = 0;  // not finite, ending before they start, no such lane
  size_t hidden_spans = 0;    // in lanes beyond the drawn ones
};

// Spans narrower than half a pixel of `width_px` are merged with their neighbours into
// marks of that width, shown as the phase that takes most of the time; when more than
// `most` marks remain, the width that is merged doubles until they do not.
TimelineMarks MarksOf(const TimelineChart& chart, size_t lanes, double width_px,
                      size_t most);

}  // namespace stepslack::render

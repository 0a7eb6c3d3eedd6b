#include "timeline_marks.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace stepslack::render {
namespace {

std::vector<TimelineMark> UsableSpans(const TimelineChart& chart, size_t lanes,
                                      TimelineMarks& out) {
  // Beyond this a time in ms is a damaged record, and its arithmetic could overflow.
  constexpr double kLongest = 1e15;
  std::vector<const Span*> spans;
  for (const Span& span : chart.spans) {
    const bool lane_exists =
        span.lane >= 0 && static_cast<size_t>(span.lane) < chart.lanes.size();
    if (!lane_exists || !(std::abs(span.start_ms) < kLongest) ||
        !(std::abs(span.end_ms) < kLongest) || span.end_ms < span.start_ms) {
      ++out.unusable_spans;
    } else if (static_cast<size_t>(span.lane) >= lanes) {
      ++out.hidden_spans;
    } else {
      spans.push_back(&span);
    }
  }
  std::stable_sort(spans.begin(), spans.end(), [](const Span* a, const Span* b) {
    return a->start_ms < b->start_ms;
  });
  std::map<std::string_view, size_t> index;
  std::vector<TimelineMark> marks;
  for (const Span* span : spans) {
    const size_t next = std::min(index.size(), kMostPhases);
    const auto [found, added] = index.emplace(span->phase, next);
    if (added && next < kMostPhases) out.phases.push_back(span->phase);
    marks.push_back({span->lane, found->second, span->start_ms, span->end_ms});
  }
  if (index.size() > kMostPhases) {
    out.other_phases = index.size() - kMostPhases;
    out.phases.push_back("other");
  }
  std::stable_sort(
      marks.begin(), marks.end(),
      [](const TimelineMark& a, const TimelineMark& b) { return a.lane < b.lane; });
  return marks;
}

// Neighbours in one lane that are merged into one mark.
class Group {
 public:
  bool Accepts(const TimelineMark& span, double shortest) const {
    return count_ > 0 && span.lane == mark_.lane &&
           std::max(span.end_ms, mark_.end_ms) - mark_.start_ms <= shortest;
  }
  void Add(const TimelineMark& span) {
    if (count_ == 0) mark_ = span;
    mark_.end_ms = std::max(mark_.end_ms, span.end_ms);
    time_[span.phase] += span.end_ms - span.start_ms;
    ++count_;
  }
  void FlushTo(TimelineMarks& out) {
    if (count_ == 0) return;
    const auto longest = std::max_element(
        time_.begin(), time_.end(),
        [](const auto& a, const auto& b) { return a.second < b.second; });
    mark_.phase = longest->first;
    out.marks.push_back(mark_);
    if (count_ > 1) {
      out.merged_spans += count_;
      ++out.merged_marks;
    }
    *this = Group();
  }

 private:
  TimelineMark mark_;
  std::map<size_t, double> time_;
  size_t count_ = 0;
};

void Merge(const std::vector<TimelineMark>& spans, double shortest,
           TimelineMarks& out) {
  out.marks.clear();
  out.merged_spans = out.merged_marks = 0;
  out.merge_ms = shortest;
  Group group;
  for (const TimelineMark& span : spans) {
    if (span.end_ms - span.start_ms >= shortest) {
      group.FlushTo(out);
      out.marks.push_back(span);
      continue;
    }
    if (!group.Accepts(span, shortest)) group.FlushTo(out);
    group.Add(span);
  }
  group.FlushTo(out);
}

}  // namespace

TimelineMarks MarksOf(const TimelineChart& chart, size_t lanes, double width_px,
                      size_t most) {
  TimelineMarks out;
  const std::vector<TimelineMark> spans = UsableSpans(chart, lanes, out);
  if (spans.empty()) return out;
  out.start_ms = spans.front().start_ms;
  out.end_ms = spans.front().end_ms;
  for (const TimelineMark& span : spans) {
    out.start_ms = std::min(out.start_ms, span.start_ms);
    out.end_ms = std::max(out.end_ms, span.end_ms);
  }
  const double extent = out.end_ms - out.start_ms;
  double shortest = 0.5 * extent / std::max(1.0, width_px);
  Merge(spans, shortest, out);
  while (out.marks.size() > most && shortest <= extent) {
    shortest = shortest > 0 ? 2 * shortest : 1;
    Merge(spans, shortest, out);
  }
  return out;
}

}  // namespace stepslack::render

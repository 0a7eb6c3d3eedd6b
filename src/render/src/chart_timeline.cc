#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "axis.h"
#include "chart.h"
#include "text_width.h"
#include "timeline_marks.h"

namespace stepslack::render {
namespace {

constexpr size_t kMostLanes = 64;
constexpr double kMostNameWidth = 170;

struct TimelinePlot {
  const TimelineChart* chart = nullptr;
  size_t lanes = 0;
  TimelineMarks marks;
  Axis x;
  double left = 0, top = 0, width = 0, lane_height = 0;
  Notes notes;

  double PixelX(double ms) const { return left + width * x.Fraction(ms); }
  double LaneTop(size_t lane) const {
    return top + lane_height * static_cast<double>(lane);
  }
  double bottom() const { return LaneTop(std::max<size_t>(lanes, 1)); }
};

void AddNotes(TimelinePlot& plot) {
  const TimelineMarks& marks = plot.marks;
  if (plot.lanes < plot.chart->lanes.size()) {
    plot.notes.push_back(fmt::format(
        "{} of {} lanes are drawn; {} spans of the others are in the JSON report",
        plot.lanes, plot.chart->lanes.size(), marks.hidden_spans));
  }
  if (marks.merged_spans > 0) {
    plot.notes.push_back(fmt::format(
        "{} spans shorter than {} ms are merged into {} marks, each shown as the phase "
        "that takes most of its time",
        marks.merged_spans, ShortValue(marks.merge_ms), marks.merged_marks));
  }
  if (marks.other_phases > 0) {
    plot.notes.push_back(fmt::format("{} phases beyond the first {} are drawn as other",
                                     marks.other_phases, kMostPhases));
  }
  if (marks.unusable_spans > 0) {
    plot.notes.push_back(fmt::format(
        "{} spans have no valid lane or time and are not drawn", marks.unusable_spans));
  }
}

TimelinePlot PrepareTimeline(const TimelineChart& chart, const DrawOptions& options) {
  TimelinePlot plot;
  plot.chart = &chart;
  plot.lanes = std::min(chart.lanes.size(), kMostLanes);
  double name_width = 0;
  for (size_t i = 0; i < plot.lanes; ++i) {
    name_width = std::max(name_width, TextWidth(chart.lanes[i], kFontPx));
  }
  plot.left = std::min(name_width, kMostNameWidth) + 18;
  plot.width = kChartWidth - plot.left - 24;
  plot.lane_height = plot.lanes <= 24 ? 24 : 17;
  plot.marks = MarksOf(chart, plot.lanes, plot.width, options.max_marks);
  Range range;
  if (!plot.marks.marks.empty()) {
    range.Add(plot.marks.start_ms);
    range.Add(plot.marks.end_ms);
  }
  for (int target = 10; target >= 1; --target) {
    plot.x = LinearAxis(range, target);
    double widest = 0;
    for (const Tick& tick : plot.x.ticks) {
      widest = std::max(widest, TextWidth(tick.label, kFontPx));
    }
    if (static_cast<double>(plot.x.ticks.size() - 1) * (widest + 14) <= plot.width)
      break;
  }
  plot.top = LegendHeight(plot.marks.phases, kChartWidth - 16) + 8;
  AddNotes(plot);
  return plot;
}

void DrawLanes(HtmlWriter& writer, const TimelinePlot& plot) {
  for (const Tick& tick : plot.x.ticks) {
    const double x = plot.PixelX(tick.value);
    WriteLine(writer, x, plot.top, x, plot.bottom(), "gridline");
    WriteText(writer, x, plot.bottom() + 18, tick.label, "middle", "muted");
  }
  for (size_t i = 0; i < plot.lanes; ++i) {
    WriteText(writer, plot.left - 10, plot.LaneTop(i) + plot.lane_height / 2 + 4,
              FitText(plot.chart->lanes[i], kFontPx, kMostNameWidth), "end");
  }
  WriteLine(writer, plot.left, plot.bottom(), plot.left + plot.width, plot.bottom(),
            "axis");
  WriteText(writer, plot.left + plot.width / 2, plot.bottom() + 37, "time (ms)",
            "middle");
}

// One path for each phase: printing a hatch costs by the shape, not by the rectangle.
// Marks too narrow for an outline get none.
void DrawMarks(HtmlWriter& writer, const TimelinePlot& plot,
               const DrawOptions& options) {
  const double height = plot.lane_height - 6;
  for (size_t phase = 0; phase < plot.marks.phases.size(); ++phase) {
    PathData wide, narrow;
    for (const TimelineMark& mark : plot.marks.marks) {
      if (mark.phase != phase) continue;
      const double x = plot.PixelX(mark.start_ms);
      const double width = std::max(0.5, plot.PixelX(mark.end_ms) - x);
      const double y = plot.LaneTop(static_cast<size_t>(mark.lane)) + 3;
      (width > 4 ? wide : narrow).Rectangle(x, y, width, height);
    }
    const std::string fill = FillOf(phase, options);
    if (!narrow.empty()) writer.Empty("path", {{"d", narrow.text()}, {"fill", fill}});
    if (!wide.empty()) {
      writer.Empty("path", {{"d", wide.text()}, {"fill", fill}, {"class", "edge"}});
    }
  }
}

}  // namespace

Notes DrawTimelineChart(HtmlWriter& writer, const TimelineChart& chart,
                        const DrawOptions& options) {
  const TimelinePlot plot = PrepareTimeline(chart, options);
  std::string description = fmt::format(
      "Timeline of {} lanes from {} ms to {} ms. Phases:", chart.lanes.size(),
      ShortValue(plot.marks.start_ms), ShortValue(plot.marks.end_ms));
  for (const std::string& phase : plot.marks.phases) description += " " + phase + ";";
  const SvgFrame frame(writer, kChartWidth, plot.bottom() + 46, chart.title,
                       description, plot.notes, options);
  WriteHatches(writer, plot.marks.phases.size(), options);
  WriteLegend(writer, plot.marks.phases, 8, 4, kChartWidth - 16, options);
  DrawLanes(writer, plot);
  DrawMarks(writer, plot, options);
  if (plot.marks.marks.empty()) {
    WriteText(writer, plot.left + plot.width / 2, plot.top + 16, "no data", "middle",
              "muted");
  }
  return plot.notes;
}

}  // namespace stepslack::render

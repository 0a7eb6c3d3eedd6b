#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "axis.h"
#include "chart.h"
#include "line_marks.h"
#include "text_width.h"

namespace stepslack::render {
namespace {

constexpr size_t kMostSeries = 40;
constexpr double kPlotHeight = 270;
constexpr double kMostLabelWidth = 190;
constexpr size_t kWhiskersUpTo = 40;  // points; beyond, intervals are drawn as a band
constexpr size_t kMarkersUpTo = 60;

struct LinePlot {
  const LineChart* chart = nullptr;
  std::vector<MarkedSeries> series;  // the drawn ones
  Axis x, y;
  double left = 0, top = 0, width = 0, height = 0;
  Notes notes;

  double PixelX(double value) const { return left + width * x.Fraction(value); }
  double PixelY(double value) const { return top + height * (1 - y.Fraction(value)); }
  PixelPoint Pixel(const Mark& mark) const { return {PixelX(mark.x), PixelY(mark.y)}; }
  double right() const { return left + width; }
  double bottom() const { return top + height; }
};

// A name at the right edge of the plot, or inside when its line ends early.
struct EndLabel {
  std::string text;
  double y = 0;
  size_t series = 0;
  bool is_series = false;
};

const Mark* LastMark(const MarkedSeries& series) {
  for (auto mark = series.marks.rbegin(); mark != series.marks.rend(); ++mark) {
    if (!mark->gap) return &*mark;
  }
  return nullptr;
}

Axis FitXAxis(const Range& range, bool log2, double width) {
  Axis axis;
  for (int most = 10; most >= 2; --most) {
    axis = log2 ? Log2Axis(range, most) : LinearAxis(range, most);
    double widest = 0;
    for (const Tick& tick : axis.ticks) {
      widest = std::max(widest, TextWidth(tick.label, kFontPx));
    }
    if (static_cast<double>(axis.ticks.size() - 1) * (widest + 16) <= width) break;
  }
  return axis;
}

void BuildAxes(LinePlot& plot) {
  const LineChart& chart = *plot.chart;
  Range x, y;
  const auto add_y = [&](double value) {
    chart.log_y ? y.AddPositive(value) : y.Add(value);
  };
  for (const MarkedSeries& series : plot.series) {
    for (const Mark& mark : series.marks) {
      if (mark.gap) continue;
      x.Add(mark.x);
      add_y(mark.y);
      add_y(mark.low);
      add_y(mark.high);
    }
  }
  for (const ReferenceLine& line : chart.references) add_y(line.y);
  if (chart.target_low) add_y(*chart.target_low);
  if (chart.target_high) add_y(*chart.target_high);
  // Shares and times read best from zero, unless that would flatten the data.
  if (!chart.log_y && !y.empty() && y.low() > 0 && y.low() < 0.6 * y.high()) y.Add(0);
  plot.y = chart.log_y ? Log10Axis(y, 8) : LinearAxis(y, 6);

  double tick_width = 0;
  for (const Tick& tick : plot.y.ticks) {
    tick_width = std::max(tick_width, TextWidth(tick.label, kFontPx));
  }
  double label_width = 0;
  const auto measure = [&](std::string_view text) {
    label_width = std::max(label_width, TextWidth(text, kFontPx));
  };
  for (size_t i = 0; i < plot.series.size(); ++i) measure(chart.series[i].name);
  for (const ReferenceLine& line : chart.references) measure(line.name);
  if (chart.target_low || chart.target_high) measure("target region");
  plot.left = std::min(tick_width, 120.0) + 16;
  plot.width = kChartWidth - plot.left - std::min(label_width, kMostLabelWidth) - 32;
  plot.top = 28;
  const size_t labels = plot.series.size() + chart.references.size() + 1;
  plot.height = std::max(kPlotHeight, kLineGapPx * static_cast<double>(labels));
  plot.x = FitXAxis(x, chart.log2_x, plot.width);
}

LinePlot PreparePlot(const LineChart& chart, const DrawOptions& options) {
  LinePlot plot;
  plot.chart = &chart;
  const size_t drawn = std::min(chart.series.size(), kMostSeries);
  if (drawn < chart.series.size()) {
    plot.notes.push_back(fmt::format("{} of {} series are drawn; the table holds all",
                                     drawn, chart.series.size()));
  }
  const size_t most =
      std::max<size_t>(60, options.max_marks / std::max<size_t>(1, drawn));
  size_t points = 0, kept = 0, hidden = 0;
  for (size_t i = 0; i < drawn; ++i) {
    MarkedSeries series = MarksOf(chart.series[i], chart.log2_x, chart.log_y);
    points += series.marks.size();
    hidden += series.not_on_log;
    series.marks = Thin(series.marks, std::min<size_t>(most, 1200));
    kept += series.marks.size();
    plot.series.push_back(std::move(series));
  }
  if (kept < points) {
    plot.notes.push_back(fmt::format(
        "{} points are drawn as {}: of neighbours the lowest and highest are kept",
        points, kept));
  }
  for (const ReferenceLine& line : chart.references) {
    if (chart.log_y && !(line.y > 0)) ++hidden;
  }
  if (hidden > 0) {
    plot.notes.push_back(fmt::format(
        "{} values at or below zero can not be shown on a logarithmic axis", hidden));
  }
  BuildAxes(plot);
  return plot;
}

void DrawAxes(HtmlWriter& writer, const LinePlot& plot) {
  for (const Tick& tick : plot.y.ticks) {
    const double y = plot.PixelY(tick.value);
    WriteLine(writer, plot.left, y, plot.right(), y, "gridline");
    WriteText(writer, plot.left - 8, y + 4, tick.label, "end", "muted");
  }
  for (const Tick& tick : plot.x.ticks) {
    const double x = plot.PixelX(tick.value);
    WriteLine(writer, x, plot.bottom(), x, plot.bottom() + 5, "axis");
    // Beside short labels of the y axis a long one would begin left of the picture.
    const double half = TextWidth(tick.label, kFontPx) / 2 + 1;
    WriteText(writer, std::clamp(x, half, std::max(half, kChartWidth - half)),
              plot.bottom() + 19, tick.label, "middle", "muted");
  }
  WriteLine(writer, plot.left, plot.bottom(), plot.right(), plot.bottom(), "axis");
  WriteText(writer, 4, 14, FitText(plot.chart->y_label, kFontPx, kChartWidth - 8));
  WriteText(writer, plot.left + plot.width / 2, plot.bottom() + 38,
            FitText(plot.chart->x_label, kFontPx, plot.width), "middle");
}

void DrawTarget(HtmlWriter& writer, const LinePlot& plot) {
  const LineChart& chart = *plot.chart;
  const bool has_low = chart.target_low && plot.y.Shows(*chart.target_low);
  const bool has_high = chart.target_high && plot.y.Shows(*chart.target_high);
  if (!has_low && !has_high) return;
  const double top = has_high ? plot.PixelY(*chart.target_high) : plot.top;
  const double bottom = has_low ? plot.PixelY(*chart.target_low) : plot.bottom();
  writer.Empty("rect", {{"x", plot.left},
                        {"y", std::min(top, bottom)},
                        {"width", plot.width},
                        {"height", std::abs(bottom - top)},
                        {"class", "target"}});
  if (has_high) WriteLine(writer, plot.left, top, plot.right(), top, "target-edge");
  if (has_low)
    WriteLine(writer, plot.left, bottom, plot.right(), bottom, "target-edge");
}

void DrawBand(HtmlWriter& writer, const LinePlot& plot,
              const std::vector<Mark>& marks) {
  PathData path;
  for (size_t i = 0; i < marks.size();) {
    size_t end = i;
    while (end < marks.size() && !marks[end].gap && marks[end].interval) ++end;
    for (size_t k = i; k < end; ++k) {
      const double x = plot.PixelX(marks[k].x);
      const double y = plot.PixelY(marks[k].high);
      k == i ? path.Move(x, y) : path.Line(x, y);
    }
    for (size_t k = end; k > i; --k) {
      path.Line(plot.PixelX(marks[k - 1].x), plot.PixelY(marks[k - 1].low));
    }
    if (end > i) path.Close();
    i = std::max(end, i + 1);
  }
  if (!path.empty()) writer.Empty("path", {{"d", path.text()}, {"class", "band"}});
}

void DrawWhiskers(HtmlWriter& writer, const LinePlot& plot,
                  const std::vector<Mark>& marks) {
  PathData path;
  for (const Mark& mark : marks) {
    if (mark.gap || !mark.interval || mark.low == mark.high) continue;
    const double x = plot.PixelX(mark.x);
    const double low = plot.PixelY(mark.low);
    const double high = plot.PixelY(mark.high);
    path.Move(x, low).Line(x, high);
    path.Move(x - 4, low).Line(x + 4, low).Move(x - 4, high).Line(x + 4, high);
  }
  if (!path.empty()) writer.Empty("path", {{"d", path.text()}, {"class", "whisker"}});
}

// The line and what a label should keep clear of.
void DrawPolyline(HtmlWriter& writer, const LinePlot& plot, const Series& series,
                  const std::vector<Mark>& marks, bool dotted,
                  std::vector<PixelPoint>& track) {
  PathData path;
  const Mark* before = nullptr;
  for (const Mark& mark : marks) {
    if (mark.gap) {
      before = nullptr;
      continue;
    }
    const PixelPoint at = plot.Pixel(mark);
    if (before == nullptr) {
      path.Move(at.x, at.y);
      track.push_back(at);
    } else {
      PixelPoint from = plot.Pixel(*before);
      if (series.steps) {
        path.Line(at.x, from.y);
        AddTrack(track, from, {at.x, from.y});
        from.x = at.x;
      }
      path.Line(at.x, at.y);
      AddTrack(track, from, at);
    }
    before = &mark;
  }
  if (path.empty()) return;
  std::string css_class = "line";
  if (marks.size() > 150) css_class += " fine";
  if (series.dashed || dotted) css_class += series.dashed ? " dashed" : " dotted";
  writer.Empty("path", {{"d", path.text()}, {"class", css_class}});
}

void DrawMarkers(HtmlWriter& writer, const LinePlot& plot, const Series& series,
                 const std::vector<Mark>& marks, size_t shape) {
  PathData path;
  // Long or plain lines still carry a few markers, so that they can be told apart in
  // grey.
  const bool all = series.points && marks.size() <= kMarkersUpTo;
  const size_t stride = all ? 1 : std::max<size_t>(1, marks.size() / 6);
  for (size_t i = 0; i < marks.size(); ++i) {
    if (marks[i].gap) continue;
    const bool alone =
        (i == 0 || marks[i - 1].gap) && (i + 1 == marks.size() || marks[i + 1].gap);
    if (!alone && (i + stride / 2) % stride != 0) continue;
    const PixelPoint at = plot.Pixel(marks[i]);
    AddMarker(path, shape, at.x, at.y, all ? 3.6 : 3.0);
  }
  if (!path.empty()) writer.Empty("path", {{"d", path.text()}, {"class", "marker"}});
}

void DrawSeries(HtmlWriter& writer, const LinePlot& plot, size_t index,
                std::vector<PixelPoint>& track) {
  const Series& series = plot.chart->series[index];
  const std::vector<Mark>& marks = plot.series[index].marks;
  const auto group = writer.Open("g", {{"class", ColourClass(index)}});
  const bool whiskers = marks.size() <= kWhiskersUpTo;
  if (!whiskers) DrawBand(writer, plot, marks);
  DrawPolyline(writer, plot, series, marks, index >= 5, track);
  if (whiskers) DrawWhiskers(writer, plot, marks);
  DrawMarkers(writer, plot, series, marks, index + index / 5);
}

void DrawReferences(HtmlWriter& writer, const LinePlot& plot,
                    std::vector<EndLabel>& labels) {
  for (const ReferenceLine& line : plot.chart->references) {
    if (!plot.y.Shows(line.y)) continue;
    const double y = plot.PixelY(line.y);
    WriteLine(writer, plot.left, y, plot.right(), y, "reference");
    labels.push_back({.text = line.name, .y = y});
  }
  const auto& low = plot.chart->target_low;
  const auto& high = plot.chart->target_high;
  if (low || high) {
    const double top = high ? plot.PixelY(*high) : plot.top;
    const double bottom = low ? plot.PixelY(*low) : plot.bottom();
    labels.push_back({.text = "target region", .y = (top + bottom) / 2});
  }
}

void DrawEndLabels(HtmlWriter& writer, const LinePlot& plot,
                   const std::vector<EndLabel>& labels) {
  std::vector<double> wanted;
  for (const EndLabel& label : labels) wanted.push_back(label.y);
  const std::vector<double> placed =
      Separate(wanted, kLineGapPx, plot.top, plot.bottom());
  for (size_t i = 0; i < labels.size(); ++i) {
    const double x = plot.right() + 18;
    WriteLine(writer, plot.right() + 2, labels[i].y,
              labels[i].is_series ? x - 10 : x + 1, placed[i], "leader");
    if (labels[i].is_series) {
      const auto group = writer.Open("g", {{"class", ColourClass(labels[i].series)}});
      PathData marker;
      AddMarker(marker, labels[i].series + labels[i].series / 5, x - 4, placed[i], 3.4);
      writer.Empty("path", {{"d", marker.text()}, {"class", "marker"}});
    }
    WriteText(writer, x + 5, placed[i] + 4,
              FitText(labels[i].text, kFontPx, kChartWidth - x - 7));
  }
}

void DrawInnerLabel(HtmlWriter& writer, const LinePlot& plot, size_t index,
                    const std::vector<PixelPoint>& track, std::vector<Box>& taken) {
  const std::vector<Mark>& marks = plot.series[index].marks;
  std::vector<PixelPoint> anchors;
  for (const size_t at : {marks.size() - 1, marks.size() / 2, size_t{0}}) {
    if (!marks[at].gap) anchors.push_back(plot.Pixel(marks[at]));
  }
  if (anchors.empty()) anchors.push_back(plot.Pixel(*LastMark(plot.series[index])));
  const std::string text =
      FitText(plot.chart->series[index].name, kFontPx, plot.width * 0.6);
  const Box limits{plot.left + 2, plot.top + 2, plot.right() - 2, plot.bottom() - 2};
  const Box box = PlaceLabel(TextWidth(text, kFontPx) + 14, kFontPx + 2, anchors, track,
                             taken, limits);
  taken.push_back(box);
  const auto group = writer.Open("g", {{"class", ColourClass(index)}});
  PathData marker;
  AddMarker(marker, index + index / 5, box.x0 + 5, box.y0 + 7, 3.4);
  WriteText(writer, box.x0 + 13, box.y0 + 11, text, "start", "halo");
  writer.Empty("path", {{"d", marker.text()}, {"class", "marker"}});
}

std::string DescribeLines(const LinePlot& plot) {
  std::string text = fmt::format("Line chart of {} over {}.", plot.chart->y_label,
                                 plot.chart->x_label);
  for (size_t i = 0; i < std::min<size_t>(plot.series.size(), 12); ++i) {
    const Mark* last = LastMark(plot.series[i]);
    text += fmt::format(" {}: ", plot.chart->series[i].name);
    text += last == nullptr
                ? "no points."
                : fmt::format("{} points, the last {} at {}.", plot.series[i].shown,
                              ShortValue(last->y), ShortValue(last->x));
  }
  return text;
}

}  // namespace

Notes DrawLineChart(HtmlWriter& writer, const LineChart& chart,
                    const DrawOptions& options) {
  const LinePlot plot = PreparePlot(chart, options);
  const SvgFrame frame(writer, kChartWidth, plot.bottom() + 46, chart.title,
                       DescribeLines(plot), plot.notes, options);
  DrawTarget(writer, plot);
  DrawAxes(writer, plot);
  std::vector<EndLabel> labels;
  DrawReferences(writer, plot, labels);
  std::vector<PixelPoint> track;
  std::vector<size_t> inner;
  size_t shown = 0;
  for (size_t i = 0; i < plot.series.size(); ++i) {
    shown += plot.series[i].shown;
    DrawSeries(writer, plot, i, track);
    const Mark* last = LastMark(plot.series[i]);
    if (last == nullptr) continue;
    if (plot.x.Fraction(last->x) >= 0.75) {
      labels.push_back({chart.series[i].name, plot.PixelY(last->y), i, true});
    } else {
      inner.push_back(i);
    }
  }
  std::vector<Box> taken;
  for (const size_t i : inner) DrawInnerLabel(writer, plot, i, track, taken);
  DrawEndLabels(writer, plot, labels);
  if (shown == 0) {
    WriteText(writer, plot.left + plot.width / 2, plot.top + plot.height / 2, "no data",
              "middle", "muted");
  }
  return plot.notes;
}

}  // namespace stepslack::render

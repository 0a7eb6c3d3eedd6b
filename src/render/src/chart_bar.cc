#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "axis.h"
#include "chart.h"
#include "text_width.h"

namespace stepslack::render {
namespace {

constexpr size_t kMostBars = 60;
constexpr size_t kMostNamedParts = 40;
constexpr double kBoldFactor = 1.1;  // bold digits are wider than the width table says
constexpr double kMostNameWidth = 210;
constexpr double kBarHeight = 16;
constexpr double kBarGap = 12;

struct BarPlot {
  const BarChart* chart = nullptr;
  size_t bars = 0;
  size_t parts = 0;                             // most parts of a bar
  std::vector<std::vector<std::string>> names;  // wrapped
  std::vector<std::string> values;              // text at the right
  Axis x;
  double left = 0, top = 0, width = 0, bottom = 0;
  std::vector<double> row_tops;
  Notes notes;

  double PixelX(double value) const { return left + width * x.Fraction(value); }
  bool stacked() const { return parts > 1; }
};

// Sums of the finite parts to the right and to the left of zero.
struct Extent {
  double positive = 0;
  double negative = 0;
  size_t finite = 0;
};

Extent ExtentOf(const Bar& bar) {
  Extent extent;
  for (const double part : bar.parts) {
    if (!std::isfinite(part)) continue;
    ++extent.finite;
    (part >= 0 ? extent.positive : extent.negative) += part;
  }
  return extent;
}

bool HasInterval(const Bar& bar) {
  return bar.low && bar.high && std::isfinite(*bar.low) && std::isfinite(*bar.high);
}

std::string ValueText(const Bar& bar) {
  const Extent extent = ExtentOf(bar);
  if (extent.finite == 0) return "no value";
  std::string text = ShortValue(extent.positive + extent.negative);
  if (HasInterval(bar) && *bar.low != *bar.high) {
    text += fmt::format(" [{}, {}]", ShortValue(*bar.low), ShortValue(*bar.high));
  }
  return text;
}

bool HasReference(const BarChart& chart) {
  return chart.reference && std::isfinite(*chart.reference);
}

std::vector<std::string> PartNames(const BarPlot& plot) {
  std::vector<std::string> names = plot.chart->part_names;
  const size_t named = std::min(plot.parts, kMostNamedParts);
  names.resize(std::min(names.size(), named));
  for (size_t i = names.size(); i < named; ++i) {
    names.push_back(fmt::format("part {}", i + 1));
  }
  return names;
}

void LayOut(BarPlot& plot) {
  double name_width = 0;
  double value_width = 0;
  Range range;
  range.Add(0);
  for (size_t i = 0; i < plot.bars; ++i) {
    const Bar& bar = plot.chart->bars[i];
    plot.parts = std::max(plot.parts, bar.parts.size());
    plot.names.push_back(WrapText(bar.label, kFontPx, kMostNameWidth, 2));
    for (const std::string& line : plot.names.back()) {
      name_width = std::max(name_width, TextWidth(line, kFontPx));
    }
    plot.values.push_back(ValueText(bar));
    value_width =
        std::max(value_width, kBoldFactor * TextWidth(plot.values.back(), kFontPx));
    const Extent extent = ExtentOf(bar);
    range.Add(extent.positive);
    range.Add(extent.negative);
    if (HasInterval(bar)) {
      range.Add(*bar.low);
      range.Add(*bar.high);
    }
  }
  if (HasReference(*plot.chart)) range.Add(*plot.chart->reference);
  plot.left = name_width + 18;
  plot.width = kChartWidth - plot.left - value_width - 22;
  for (int target = 8; target >= 1; --target) {
    plot.x = LinearAxis(range, target);
    double widest = 0;
    for (const Tick& tick : plot.x.ticks) {
      widest = std::max(widest, TextWidth(tick.label, kFontPx));
    }
    if (static_cast<double>(plot.x.ticks.size() - 1) * (widest + 14) <= plot.width)
      break;
  }
  plot.top = (plot.stacked() ? LegendHeight(PartNames(plot), kChartWidth - 16) : 0) +
             (HasReference(*plot.chart) ? 24 : 8);
  if (plot.parts > kMostNamedParts) {
    plot.notes.push_back(fmt::format("{} of {} parts are named; the table names all",
                                     kMostNamedParts, plot.parts));
  }
  double y = plot.top + kBarGap / 2;
  for (size_t i = 0; i < plot.bars; ++i) {
    plot.row_tops.push_back(y);
    y += (plot.names[i].size() > 1 ? 2 * kLineGapPx : kBarHeight) + kBarGap;
  }
  plot.bottom = std::max(y - kBarGap / 2, plot.top + 40);
}

void DrawAxis(HtmlWriter& writer, const BarPlot& plot) {
  for (const Tick& tick : plot.x.ticks) {
    const double x = plot.PixelX(tick.value);
    WriteLine(writer, x, plot.top, x, plot.bottom, "gridline");
    WriteText(writer, x, plot.bottom + 18, tick.label, "middle", "muted");
  }
  WriteLine(writer, plot.PixelX(0), plot.top, plot.PixelX(0), plot.bottom, "axis");
  WriteText(writer, plot.left + plot.width / 2, plot.bottom + 37,
            FitText(plot.chart->x_label, kFontPx, kChartWidth - plot.left), "middle");
}

void DrawReference(HtmlWriter& writer, const BarPlot& plot) {
  if (!HasReference(*plot.chart)) return;
  const double x = plot.PixelX(*plot.chart->reference);
  WriteLine(writer, x, plot.top - 2, x, plot.bottom, "reference");
  std::string name = plot.chart->reference_name;
  if (name.empty()) name = "reference";
  name = FitText(fmt::format("{} ({})", name, ShortValue(*plot.chart->reference)),
                 kFontPx, kChartWidth - 16);
  const double half = TextWidth(name, kFontPx) / 2;
  const double center = std::clamp(x, half + 4, kChartWidth - half - 4);
  WriteText(writer, center, plot.top - 8, name, "middle");
}

double BarTop(const BarPlot& plot, size_t row) {
  const double height = plot.names[row].size() > 1 ? 2 * kLineGapPx : kBarHeight;
  return plot.row_tops[row] + (height - kBarHeight) / 2;
}

// One path for each part: printing a hatch costs by the shape, not by the rectangle.
void DrawParts(HtmlWriter& writer, const BarPlot& plot, const DrawOptions& options) {
  std::vector<PathData> paths(plot.parts);
  for (size_t row = 0; row < plot.bars; ++row) {
    double positive = 0;
    double negative = 0;
    const std::vector<double>& parts = plot.chart->bars[row].parts;
    for (size_t part = 0; part < parts.size(); ++part) {
      if (!std::isfinite(parts[part]) || parts[part] == 0) continue;
      double& base = parts[part] > 0 ? positive : negative;
      const double from = plot.PixelX(base);
      base += parts[part];
      const double to = plot.PixelX(base);
      paths[part].Rectangle(std::min(from, to), BarTop(plot, row),
                            std::max(std::abs(to - from), 0.5), kBarHeight);
    }
  }
  for (size_t part = 0; part < paths.size(); ++part) {
    if (paths[part].empty()) continue;
    writer.Empty("path", {{"d", paths[part].text()},
                          {"fill", FillOf(part, options)},
                          {"class", "edge"}});
  }
}

void DrawInterval(HtmlWriter& writer, const BarPlot& plot, const Bar& bar, double y) {
  if (!HasInterval(bar) || *bar.low == *bar.high) return;
  const double low = plot.PixelX(*bar.low);
  const double high = plot.PixelX(*bar.high);
  const double middle = y + kBarHeight / 2;
  PathData path;
  path.Move(low, middle).Line(high, middle);
  path.Move(low, middle - 5).Line(low, middle + 5);
  path.Move(high, middle - 5).Line(high, middle + 5);
  writer.Empty("path", {{"d", path.text()}, {"class", "interval"}});
  writer.Empty("path", {{"d", path.text()}, {"class", "interval-ink"}});
}

void DrawRow(HtmlWriter& writer, const BarPlot& plot, size_t row) {
  const std::vector<std::string>& lines = plot.names[row];
  const double top = BarTop(plot, row);
  const double middle = top + kBarHeight / 2;
  const double first =
      middle + 4 - kLineGapPx * static_cast<double>(lines.size() - 1) / 2;
  for (size_t i = 0; i < lines.size(); ++i) {
    WriteText(writer, plot.left - 10, first + kLineGapPx * static_cast<double>(i),
              lines[i], "end");
  }
  DrawInterval(writer, plot, plot.chart->bars[row], top);
  WriteText(writer, kChartWidth - 4, middle + 4, plot.values[row], "end", "strong");
}

std::string DescribeBars(const BarPlot& plot) {
  std::string text = fmt::format("Bar chart of {}.", plot.chart->x_label);
  for (size_t i = 0; i < std::min<size_t>(plot.bars, 12); ++i) {
    text += fmt::format(" {}: {}.", plot.chart->bars[i].label, plot.values[i]);
  }
  return text;
}

}  // namespace

Notes DrawBarChart(HtmlWriter& writer, const BarChart& chart,
                   const DrawOptions& options) {
  BarPlot plot;
  plot.chart = &chart;
  plot.bars = std::min({chart.bars.size(), kMostBars, options.max_marks});
  if (plot.bars < chart.bars.size()) {
    plot.notes.push_back(fmt::format("{} of {} bars are drawn; the table holds all",
                                     plot.bars, chart.bars.size()));
  }
  LayOut(plot);
  const SvgFrame frame(writer, kChartWidth, plot.bottom + 46, chart.title,
                       DescribeBars(plot), plot.notes, options);
  WriteHatches(writer, std::max<size_t>(1, plot.parts), options);
  if (plot.stacked()) {
    WriteLegend(writer, PartNames(plot), 8, 4, kChartWidth - 16, options);
  }
  DrawAxis(writer, plot);
  DrawParts(writer, plot, options);
  for (size_t i = 0; i < plot.bars; ++i) DrawRow(writer, plot, i);
  DrawReference(writer, plot);
  if (plot.bars == 0) {
    WriteText(writer, plot.left + plot.width / 2, plot.top + 24, "no data", "middle",
              "muted");
  }
  return plot.notes;
}

}  // namespace stepslack::render

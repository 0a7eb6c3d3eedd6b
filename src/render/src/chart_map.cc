#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "axis.h"
#include "chart.h"
#include "colormap.h"
#include "map_pixels.h"
#include "png.h"
#include "text_width.h"

namespace stepslack::render {
namespace {

constexpr double kImageSide = 164;
constexpr double kPanelWidth = 240;
constexpr double kImageTop = 38;  // below the name and the unit
constexpr double kPanelHeight = kImageTop + kImageSide + 44;
constexpr size_t kPanelsInRow = 4;
constexpr size_t kMostPanels = 24;

struct MapPanel {
  const MapImage* image = nullptr;
  MapStats stats;
  ColourScale scale;
  std::string gradient_id;
  Notes notes;
};

std::string Hex(const Rgb& colour) {
  return fmt::format("#{:02x}{:02x}{:02x}", colour.red, colour.green, colour.blue);
}

MapPanel PreparePanel(const MapImage& image, std::string gradient_id,
                      const DrawOptions& options) {
  MapPanel panel{.image = &image,
                 .stats = StatsOf(image),
                 .scale = {},
                 .gradient_id = std::move(gradient_id),
                 .notes = {}};
  panel.scale = ScaleOf(image, panel.stats);
  const auto note = [&](std::string text) {
    panel.notes.push_back(image.name + ": " + std::move(text));
  };
  if (!panel.stats.valid) {
    note(fmt::format("{} values do not fill {} x {} pixels", image.values.size(),
                     image.height, image.width));
    return panel;
  }
  if (panel.stats.missing > 0) {
    note(fmt::format("{} pixels have no value and are grey", panel.stats.missing));
  }
  const auto outside =
      std::count_if(image.values.begin(), image.values.end(), [&](float value) {
        const double position = panel.scale.Position(value);
        return position < -1e-6 || position > 1 + 1e-6;
      });
  if (outside > 0) {
    note(fmt::format("{} pixels lie outside the colour scale and show its end colour",
                     outside));
  }
  const int64_t side = std::max(image.height, image.width);
  if (side > options.max_map_side) {
    const int64_t block = (side + options.max_map_side - 1) / options.max_map_side;
    note(fmt::format(
        "shown coarser: a pixel is the value of largest magnitude of {0} x {0}",
        block));
  }
  return panel;
}

std::string ImageUri(const MapPanel& panel, const DrawOptions& options) {
  const PixelGrid grid =
      Coarsen(*panel.image, std::max<int64_t>(1, options.max_map_side));
  std::vector<uint8_t> indices;
  indices.reserve(grid.values.size());
  for (const float value : grid.values) {
    indices.push_back(PaletteIndex(panel.scale.Position(value)));
  }
  return PngDataUri(EncodePng(indices, static_cast<uint32_t>(grid.width),
                              static_cast<uint32_t>(grid.height),
                              MapPalette(panel.image->diverging)));
}

void DrawColourBar(HtmlWriter& writer, const MapPanel& panel, double x, double y,
                   double height) {
  {
    const auto defs = writer.Open("defs");
    const auto gradient = writer.Open(
        "linearGradient",
        {{"id", panel.gradient_id}, {"x1", 0}, {"y1", 1}, {"x2", 0}, {"y2", 0}});
    constexpr int kStops = 8;
    for (int i = 0; i <= kStops; ++i) {
      const double at = static_cast<double>(i) / kStops;
      const Rgb colour = panel.image->diverging ? ErrorColour(at) : ValueColour(at);
      writer.Empty("stop",
                   {{"offset", CompactNumber(at, 3)}, {"stop-color", Hex(colour)}});
    }
  }
  writer.Empty("rect", {{"x", x},
                        {"y", y},
                        {"width", 12},
                        {"height", height},
                        {"fill", fmt::format("url(#{})", panel.gradient_id)}});
  writer.Empty(
      "rect",
      {{"x", x}, {"y", y}, {"width", 12}, {"height", height}, {"class", "frame"}});
  const double low = panel.scale.low;
  const double high = panel.scale.high;
  const auto label = [&](double at_y, double value) {
    WriteText(writer, x + 16, at_y, ShortValue(value), "start", "muted");
  };
  label(y + height / 2 + 4, low + (high - low) / 2);
  if (high > low && height >= 45) {
    label(y + 10, high);
    label(y + height - 1, low);
  }
}

// A ring about the pixel of the maximum, dark over light to show on any colour.
void DrawPeak(HtmlWriter& writer, const MapPanel& panel, double scale) {
  const double x = (static_cast<double>(panel.stats.max_column) + 0.5) * scale;
  const double y = kImageTop + (static_cast<double>(panel.stats.max_row) + 0.5) * scale;
  const double radius = std::clamp(scale * 0.9, 5.0, 12.0);
  for (const std::string_view css_class : {"peak-under", "peak"}) {
    writer.Empty("circle", {{"cx", x}, {"cy", y}, {"r", radius}, {"class", css_class}});
  }
}

void DrawPanelBody(HtmlWriter& writer, const MapPanel& panel,
                   const DrawOptions& options) {
  const MapImage& image = *panel.image;
  WriteText(writer, 0, 13, FitText(image.name, 13, kPanelWidth - 4), "start", "strong");
  if (!image.unit.empty() && image.unit != "1") {
    WriteText(writer, 0, 29, FitText("in " + image.unit, kFontPx, kPanelWidth - 4),
              "start", "muted");
  }
  if (!panel.stats.valid || panel.stats.finite == 0) {
    WriteText(writer, 8, kImageTop + 24, "no data", "start", "muted");
    return;
  }
  const double scale =
      kImageSide / static_cast<double>(std::max(image.height, image.width));
  const double width = std::max(1.0, scale * static_cast<double>(image.width));
  const double height = std::max(1.0, scale * static_cast<double>(image.height));
  writer.Empty("image", {{"x", 0},
                         {"y", kImageTop},
                         {"width", width},
                         {"height", height},
                         {"preserveAspectRatio", "none"},
                         {"class", "pixels"},
                         {"href", ImageUri(panel, options)}});
  writer.Empty("rect", {{"x", 0},
                        {"y", kImageTop},
                        {"width", width},
                        {"height", height},
                        {"class", "frame"}});
  DrawPeak(writer, panel, scale);
  DrawColourBar(writer, panel, width + 10, kImageTop, std::max(height, 14.0));
  const MapStats& stats = panel.stats;
  WriteText(writer, 0, kImageTop + height + 17,
            FitText(fmt::format("min {}, mean {}, max {}", ShortValue(stats.min),
                                ShortValue(stats.mean), ShortValue(stats.max)),
                    kFontPx, kPanelWidth - 2));
  WriteText(writer, 0, kImageTop + height + 33,
            FitText(fmt::format("ring: {} at row {}, column {}",
                                image.diverging ? "largest" : "max", stats.max_row,
                                stats.max_column),
                    kFontPx, kPanelWidth - 2),
            "start", "muted");
}

std::string DescribePanel(const MapPanel& panel) {
  if (!panel.stats.valid) return panel.image->name + ": no data.";
  return fmt::format("{} in {}: {} x {} pixels, min {}, mean {}, max {}.",
                     panel.image->name, panel.image->unit, panel.image->height,
                     panel.image->width, ShortValue(panel.stats.min),
                     ShortValue(panel.stats.mean), ShortValue(panel.stats.max));
}

}  // namespace

Notes DrawMapPanel(HtmlWriter& writer, const MapImage& image,
                   const DrawOptions& options) {
  const MapPanel panel = PreparePanel(image, options.id + "_g", options);
  const SvgFrame frame(writer, kPanelWidth, kPanelHeight, image.name,
                       DescribePanel(panel), panel.notes, options);
  DrawPanelBody(writer, panel, options);
  return panel.notes;
}

Notes DrawMapChart(HtmlWriter& writer, const MapChart& chart,
                   const DrawOptions& options) {
  const size_t drawn = std::min(chart.images.size(), kMostPanels);
  Notes notes;
  std::vector<MapPanel> panels;
  std::string description = fmt::format("{} maps.", chart.images.size());
  for (size_t i = 0; i < drawn; ++i) {
    panels.push_back(
        PreparePanel(chart.images[i], fmt::format("{}_g{}", options.id, i), options));
    notes.insert(notes.end(), panels[i].notes.begin(), panels[i].notes.end());
    description += " " + DescribePanel(panels[i]);
  }
  if (drawn < chart.images.size()) {
    notes.push_back(fmt::format("{} of {} maps are drawn; the table holds all", drawn,
                                chart.images.size()));
  }
  const size_t columns = std::clamp<size_t>(drawn, 1, kPanelsInRow);
  const size_t rows = std::max<size_t>(1, (drawn + columns - 1) / columns);
  const SvgFrame frame(writer, kPanelWidth * static_cast<double>(columns) + 8,
                       kPanelHeight * static_cast<double>(rows) + 8, chart.title,
                       description, notes, options);
  for (size_t i = 0; i < drawn; ++i) {
    const size_t row = i / columns;
    const double x = 8 + kPanelWidth * static_cast<double>(i % columns);
    const double y = 4 + kPanelHeight * static_cast<double>(row);
    const auto group = writer.Open(
        "g", {{"transform",
               fmt::format("translate({},{})", CompactNumber(x), CompactNumber(y))}});
    DrawPanelBody(writer, panels[i], options);
  }
  if (drawn == 0) WriteText(writer, 8, kImageTop + 24, "no data", "start", "muted");
  return notes;
}

Notes DrawFigure(HtmlWriter& writer, const Figure& figure, const DrawOptions& options) {
  if (const auto* line = std::get_if<LineChart>(&figure)) {
    return DrawLineChart(writer, *line, options);
  }
  if (const auto* bar = std::get_if<BarChart>(&figure)) {
    return DrawBarChart(writer, *bar, options);
  }
  if (const auto* timeline = std::get_if<TimelineChart>(&figure)) {
    return DrawTimelineChart(writer, *timeline, options);
  }
  return DrawMapChart(writer, std::get<MapChart>(figure), options);
}

}  // namespace stepslack::render
